-- The verbs of frazil's claim protocol on one namespace, all in this one script.
--
-- KEYS[1]  the namespace's hash. All of the record lies in it, so it is lost as a whole or not.
-- ARGV     1 verb: grant mint renew release initialise, or holdings incarnation (which only read)
--          2 nonce: fresh random text, the token of a claim that is granted
--          3 fingerprint  4 layout: of the terms that all members of the namespace share
--          5 first: slot number (text)  6 size: how many slots this member may be given
--          7 end  8 horizon: ticks  9 tick: us, 0 for an axis without time
--          10 epoch: us since 1970. Also as tick_at(us) = 11 ticks + (us - 12 rest) / tick
--          13 sid  14 revision  15 now: what the member remembers of this record
--          16 witness: the member's clock  17 holder: its name
--          18 amount: want, ticks, until, used or start, as the verb has it
--          19 slot (counted from first)  20 start  21 until  22 token: of the claim held, or ""
--          23 replicas that must confirm  24 data: what a counter's store is known by, or ""
-- Units    ticks count from the epoch; _us are microseconds, moments since 1970.
-- Reply    texts: kind, nonce, incarnation, then of
--            claim     sid revision now_us slot token start until
--            wait      sid revision now_us ticks
--            lost seen sid revision now_us
--            refused   reading_us sid revision incarnation fingerprint layout guard last_us
--                      offset_us top_us: nothing was written, and record.py knows why
--            replicas  how many are connected: too many for so few confirmations
--            format    the version of a record that a newer frazil wrote
--            holdings  then six texts a slot: number, start, until, token, holder, since_us
--            incarnation  nothing more
--
-- A Lua number is a double, exact below 2^53. Microseconds since 1970 are until the year 2255. What
-- may be larger comes and goes as decimal text: a counter's values are counted here from its first
-- one ("base"), and slot numbers from the first of their range.
--
-- Fields   format sid incarnation fingerprint layout revision guard last_us offset_us top_us base;
--          era: tokens of an earlier era are void; per range of slots, by the number of its first,
--          touched:FIRST: how many were ever given (always the lowest ones);
--          page:FIRST:K: (until, era of the token or 0) of 32 slots, as 64 doubles;
--          slot:FIRST:N: start, since_us, token, holder (MessagePack).
-- A renewal reads and writes one page; a grant reads the pages, 2 us each, and writes one. All that
-- a verb changes is one HSET at its end, so a script that fails anywhere has changed nothing.

local FORMAT = '1'
local JUMP_US, WITNESS_US = 60000000, 10000000
local PAGE = 32
local PAGE_FORMAT = '<' .. string.rep('d', 2 * PAGE)
local PAGES_AT_ONCE = 1000
local LARGEST = 9007199254740992
local HEAD = {
  'format', 'sid', 'incarnation', 'fingerprint', 'revision', 'guard', 'last_us', 'offset_us',
  'top_us', 'base', 'era',
}

local key = KEYS[1]
local verb, nonce, fingerprint, layout, first = unpack(ARGV, 1, 5)
local size, horizon = tonumber(ARGV[6]), tonumber(ARGV[8])
local tick_us, epoch_us = tonumber(ARGV[9]), tonumber(ARGV[10])
local epoch_ticks, epoch_rest_us = tonumber(ARGV[11]), tonumber(ARGV[12])
local seen = { sid = ARGV[13], revision = tonumber(ARGV[14]), now_us = tonumber(ARGV[15]) }
local witness_us, holder = tonumber(ARGV[16]), ARGV[17]
local replicas, data = tonumber(ARGV[23]), ARGV[24]
local timed = tick_us > 0

local state = {} -- the head of the record, numbers as numbers; sid is nil where there is none
local changes = {} -- of the hash, name and value in turn
local pages = {} -- those read, by their number
local base_high, base_low = 0, 0
local told -- of the record as it was found, for a refusal
local incarnation, reading_us, finish, held

local function text(number)
  return string.format('%.0f', number)
end

local function set(name, value)
  changes[#changes + 1] = name
  changes[#changes + 1] = value
end

-- Decimal text of any length to a number counted from the base.
local function from_base(decimal)
  local high = tonumber(string.sub(decimal, 1, -10)) or 0
  return (high - base_high) * 1e9 + (tonumber(string.sub(decimal, -9)) - base_low)
end

local function to_decimal(number)
  local low = base_low + number % 1e9
  local high = base_high + math.floor(number / 1e9) + math.floor(low / 1e9)
  if high == 0 then
    return text(low)
  end
  return string.format('%.0f%09.0f', high, low % 1e9)
end

local function set_base(decimal)
  base_high = tonumber(string.sub(decimal, 1, -10)) or 0
  base_low = tonumber(string.sub(decimal, -9))
end

local function tick_at(us)
  return epoch_ticks + math.floor((us - epoch_rest_us) / tick_us)
end

-- The store's clock, in us since 1970.
local function read_clock()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000000 + tonumber(now[2])
end

-- What changes when the store may have lost or forked its history, and how many replicas it has.
local function read_incarnation()
  local replication = redis.call('INFO', 'replication')
  local run = string.match(redis.call('INFO', 'server'), '\nrun_id:(%x+)')
  local history = string.match(replication, '\nmaster_replid:(%x+)')
  if not run or not history then
    error('INFO tells no run_id or master_replid, so a loss could not be noticed')
  end
  local parts = { run, history }
  if replicas > 0 then -- each of them that comes back may bring another history
    local stats = redis.call('INFO', 'stats')
    parts[3] = string.match(stats, '\nsync_full:(%d+)')
    parts[4] = string.match(stats, '\nsync_partial_ok:(%d+)')
  end
  local all = table.concat(parts, '.')
  local connected = tonumber(string.match(replication, '\nconnected_slaves:(%d+)') or 0)
  return data == '' and all or data .. '/' .. all, connected
end

local function page_name(number)
  return 'page:' .. first .. ':' .. text(number)
end

local function slot_name(n)
  return 'slot:' .. first .. ':' .. text(n)
end

local function keep_page(number, packed)
  local page = packed and { struct.unpack(PAGE_FORMAT, packed) } or {}
  for i = packed and 2 * PAGE + 1 or 1, 2 * PAGE do
    page[i] = 0
  end
  pages[number] = page
end

local function load_head()
  local names = { unpack(HEAD) }
  names[#names + 1] = 'touched:' .. first
  if ARGV[19] ~= '' then
    held = { slot = tonumber(ARGV[19]), token = ARGV[22] }
    held.page = math.floor(held.slot / PAGE)
    names[#names + 1] = page_name(held.page)
    names[#names + 1] = slot_name(held.slot)
  end
  local values = redis.call('HMGET', key, unpack(names))
  for i, name in ipairs(HEAD) do
    state[name] = values[i] or nil
  end
  for _, name in ipairs({ 'revision', 'guard', 'last_us', 'offset_us', 'top_us' }) do
    state[name] = tonumber(state[name] or 0)
  end
  state.era = tonumber(state.era or 1)
  told = {
    state.sid or '', text(state.revision), state.incarnation or '', state.fingerprint or '',
  }
  set_base(state.base or '0')
  state.touched = tonumber(values[#HEAD + 1] or 0)
  finish = math.min(from_base(ARGV[7]), LARGEST)
  if held then
    held.start, held.till = from_base(ARGV[20]), from_base(ARGV[21])
    keep_page(held.page, values[#HEAD + 2])
    held.details = values[#HEAD + 3]
  end
end

-- The slot of the claim held: until, start, since_us, and whether the claim's token stands on it.
local function held_slot()
  local at = 2 * (held.slot % PAGE)
  local page = pages[held.page]
  local slot = { till = page[at + 1], start = 0, since_us = 0, taken = false, same = false }
  if held.details then
    local details = cmsgpack.unpack(held.details)
    slot.start, slot.since_us = details[1], details[2]
    slot.taken = page[at + 2] == state.era
    slot.same = slot.taken and details[3] == held.token
  end
  return slot
end

local function put(n, till, start, token, name, since_us)
  local number = math.floor(n / PAGE)
  local page, at = pages[number], 2 * (n % PAGE)
  page[at + 1] = till
  page[at + 2] = token == '' and 0 or state.era
  set(page_name(number), struct.pack(PAGE_FORMAT, unpack(page)))
  set(slot_name(n), cmsgpack.pack({ start, since_us, token, name }))
  if n >= state.touched then
    set('touched:' .. first, text(n + 1))
  end
end

-- Ends a verb: all that it changed, in one step.
local function answer(kind, now_us, ...)
  set('revision', text(state.revision))
  if timed then
    set('last_us', text(state.last_us))
    set('offset_us', text(state.offset_us))
    set('top_us', text(state.top_us))
  end
  redis.call('HSET', key, unpack(changes))
  return { kind, nonce, incarnation, state.sid, text(state.revision), text(now_us), ... }
end

-- Ends a verb that changes nothing. guard: what was in the way, if it was a slot's floor.
local function refuse(guard)
  local sid, revision, theirs, print = unpack(told)
  error({
    'refused', nonce, incarnation, text(reading_us), sid, revision, theirs, print,
    redis.call('HGET', key, 'layout') or '', to_decimal(guard or state.guard),
    text(state.last_us), text(state.offset_us), text(state.top_us),
  })
end

local function is_loss()
  if not state.sid or state.incarnation ~= incarnation then
    return true
  end
  if held then
    local slot = held_slot()
    if held.till > math.max(slot.till, state.guard) then
      return slot.taken or slot.start ~= held.start
    end
  end
  if seen.sid == state.sid then
    return seen.revision > state.revision
  end
  return seen.sid ~= '' and tick_at(seen.now_us) + horizon > state.guard
end

local function refuse_loss()
  local function data_part(told)
    return string.match(told, '^[^/]*')
  end
  local older = seen.sid ~= '' and (seen.sid ~= state.sid or seen.revision > state.revision)
  if not state.sid or older or data_part(state.incarnation) ~= data_part(incarnation) then
    refuse()
  end
  set('incarnation', incarnation)
end

local function found()
  if not state.sid then
    state.sid = nonce
    set('format', FORMAT)
    set('sid', nonce)
    set('base', string.format('%.0f%09.0f', base_high, base_low))
  end
  if seen.sid == state.sid then
    state.revision = math.max(state.revision, seen.revision)
  end
  set('incarnation', incarnation)
  set('fingerprint', fingerprint)
  set('layout', layout)
end

local function set_guard(guard)
  state.guard = guard
  set('guard', text(guard))
end

local function tell_time()
  if not timed then
    return 0
  end
  local passed_us = reading_us - state.last_us
  if passed_us > JUMP_US and math.abs(witness_us - reading_us) > WITNESS_US then
    refuse()
  end
  local offset_us = state.offset_us
  if passed_us < 0 then
    offset_us = offset_us - passed_us
  else
    offset_us = offset_us - math.min(offset_us, math.floor(passed_us / 8))
  end
  local now_us = reading_us + offset_us
  if now_us < epoch_us then
    refuse()
  end
  state.last_us, state.offset_us = reading_us, offset_us
  state.top_us = math.max(state.top_us, now_us)
  return now_us
end

-- What every verb does first: check the terms, notice a loss, tell the time.
local function arrive()
  if state.sid and state.fingerprint ~= fingerprint then
    refuse()
  end
  if not timed then
    refuse_loss()
    state.revision = state.revision + 1
    return 0
  end
  local lost = is_loss()
  local now_us = tell_time()
  if lost then
    found()
    local latest_us = math.max(reading_us, state.top_us, seen.now_us)
    local guard = math.max(state.guard, tick_at(latest_us) + horizon)
    set_guard(math.max(guard, held and held.till or 0))
    state.era = state.era + 1
    set('era', text(state.era))
  end
  state.revision = state.revision + 1
  return now_us
end

local function load_pages()
  local last = math.ceil(state.touched / PAGE) - 1
  for from = 0, last, PAGES_AT_ONCE do
    local names = {}
    for number = from, math.min(from + PAGES_AT_ONCE - 1, last) do
      names[#names + 1] = page_name(number)
    end
    for i, packed in ipairs(redis.call('HMGET', key, unpack(names))) do
      keep_page(from + i - 1, packed)
    end
  end
end

-- As Slots.fit and Slots.least of record.py have it, in one pass over the slots ever touched.
local function choose(now)
  local guard, era = state.guard, state.era
  local fit, free, unheld, least, least_held
  local fit_till, least_till = guard, math.huge
  load_pages()
  local n = 0
  while n < state.touched do
    local page = pages[n / PAGE]
    for at = 1, 2 * math.min(PAGE, state.touched - n), 2 do
      local till = page[at]
      if till <= guard then
        free = free or n
        if not unheld and not (page[at + 1] == era and till > now) then
          unheld = n
        end
      elseif till <= now then
        if till > fit_till then
          fit, fit_till = n, till
        end
        if till < least_till then
          least, least_till, least_held = n, till, false
        end
      elseif till <= least_till then
        local taken = page[at + 1] == era
        if till < least_till or (least_held and not taken) then
          least, least_till, least_held = n, till, taken
        end
      end
      n = n + 1
    end
  end
  if state.touched < size then
    free = free or state.touched
    unheld = unheld or state.touched
  end
  if timed and guard <= now and (fit or free) then
    return fit or free
  end
  return unheld or free or least
end

local function bound(now, start)
  return math.min((timed and now or start) + horizon, finish)
end

local function grant(want, token)
  local now_us = arrive()
  local now = timed and tick_at(now_us) or finish
  local n = choose(now)
  local number = math.floor(n / PAGE)
  if not pages[number] then
    keep_page(number)
  end
  local start = math.max(pages[number][2 * (n % PAGE) + 1], state.guard)
  if timed then
    start = math.max(start, now)
  end
  if start >= finish then
    refuse(start)
  end
  local limit = bound(now, start)
  local till = math.min(start + want, limit)
  local least = math.min(want, math.max(1, math.floor(horizon / 100)), finish - start)
  if till - start < least then
    return answer('wait', now_us, text(start + least - limit))
  end
  if token == '' then
    put(n, till, start, '', '', 0)
  else
    put(n, till, start, token, holder, now_us)
  end
  return answer('claim', now_us, text(n), token, to_decimal(start), to_decimal(till))
end

local function renew(target)
  local now_us = arrive()
  local slot = held_slot()
  if not slot.same or slot.till ~= held.till then
    return answer('lost', now_us)
  end
  local now = timed and tick_at(now_us) or 0
  local till = math.max(slot.till, math.min(target, bound(now, slot.till)))
  put(held.slot, till, slot.start, held.token, holder, slot.since_us)
  return answer(
    'claim', now_us, text(held.slot), held.token, to_decimal(slot.start), to_decimal(till)
  )
end

local function release(used)
  local now_us = arrive()
  local slot = held_slot()
  if not slot.same or used < slot.start or used > slot.till then
    return answer('lost', now_us)
  end
  put(held.slot, used, slot.start, '', '', 0)
  return answer('seen', now_us)
end

local function initialise(start)
  if state.sid or string.sub(start, 1, 1) == '-' then
    refuse()
  end
  if not timed then
    set_base(start)
    finish = math.min(from_base(ARGV[7]), LARGEST)
  end
  if finish <= from_base(start) then
    refuse()
  end
  local now_us = tell_time()
  found()
  set_guard(from_base(start))
  return answer('seen', now_us)
end

local function holdings()
  local reply = { 'holdings', nonce, incarnation }
  local fields, starts = redis.call('HGETALL', key), {}
  local value = {}
  for i = 1, #fields, 2 do
    value[fields[i]] = fields[i + 1]
    starts[#starts + 1] = string.match(fields[i], '^touched:(.*)$')
  end
  for _, start in ipairs(starts) do
    first = start
    for n = 0, tonumber(value['touched:' .. first]) - 1 do
      held = { slot = n, page = math.floor(n / PAGE), details = value[slot_name(n)] }
      keep_page(held.page, value[page_name(held.page)])
      local slot = held_slot()
      local details = cmsgpack.unpack(held.details)
      local told = { start .. '+' .. text(n), to_decimal(slot.start), to_decimal(slot.till) }
      for _, part in ipairs(told) do
        reply[#reply + 1] = part
      end
      reply[#reply + 1] = slot.taken and details[3] or ''
      reply[#reply + 1] = slot.taken and details[4] or ''
      reply[#reply + 1] = slot.taken and text(details[2]) or '0'
    end
  end
  return reply
end

local function main()
  local connected
  incarnation, connected = read_incarnation()
  if verb == 'incarnation' then
    return { verb, nonce, incarnation }
  end
  load_head()
  if state.format and state.format ~= FORMAT then
    return { 'format', nonce, incarnation, state.format }
  end
  if verb == 'holdings' then
    return holdings()
  end
  if replicas > 0 and 2 * replicas < connected then
    return { 'replicas', nonce, incarnation, text(connected) }
  end
  reading_us = read_clock()
  if verb == 'initialise' then
    return initialise(ARGV[18])
  elseif (verb == 'renew' or verb == 'release') and not held then
    refuse()
  elseif verb == 'grant' or verb == 'mint' then
    return grant(tonumber(ARGV[18]), verb == 'grant' and nonce or '')
  elseif verb == 'renew' then
    return renew(from_base(ARGV[18]))
  elseif verb == 'release' then
    return release(from_base(ARGV[18]))
  end
  error('no such verb: ' .. verb)
end

local fine, reply = pcall(main)
if not fine and type(reply) ~= 'table' then
  return redis.error_reply('FRAZIL ' .. tostring(reply))
end
return reply
