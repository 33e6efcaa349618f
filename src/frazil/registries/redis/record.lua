-- The record of a namespace, stored in one hash. Part of the script of claims.lua, which describes
-- KEYS, ARGV, units and the reply.
--
-- Fields   head: MessagePack of HEAD, below; layout: text of the layout that it is for.
--          Then for each range of slots, named by the number of its first one:
--          touched:FIRST: how many were ever given (always the lowest ones);
--          page:FIRST:K: of 32 slots (until, era of the token or 0), doubles;
--          slot:FIRST:N: MessagePack of start, since_us, token, holder.
--
-- A token of an earlier era is void, so that a loss need not update each slot. A renewal reads and
-- writes one slot and its page; a grant reads some pages (see ``record.choose``), about 3 us each,
-- and writes one. A verb saves its changes by one HSET at its end, so a script that fails changes
-- nothing.

local FORMAT = 1
local PAGE, BYTES = 32, 16
local PAIRS = '<' .. string.rep('dd', PAGE)
local PAGES_AT_ONCE = 1000
local PAGES_SEEN = 4
local LARGEST = 9007199254740992

local record = { changes = {}, pages = {}, WAITS = '?' }

local function text(number)
  return string.format('%.0f', number)
end

-- Converts decimal text of any length to a number relative to the base.
function record.from_base(decimal)
  if not record.base_high then -- the base is 0
    return tonumber(decimal)
  end
  local high = tonumber(string.sub(decimal, 1, -10)) or 0
  return (high - record.base_high) * 1e9 + (tonumber(string.sub(decimal, -9)) - record.base_low)
end

function record.to_decimal(number)
  if not record.base_high then
    return text(number)
  end
  local low = record.base_low + number % 1e9
  local high = record.base_high + math.floor(number / 1e9) + math.floor(low / 1e9)
  if high == 0 then
    return text(low)
  end
  return string.format('%.0f%09.0f', high, low % 1e9)
end

-- Makes a decimal text the base.
function record.count_from(decimal)
  record.base = decimal
  if tonumber(decimal) ~= 0 then
    record.base_high = tonumber(string.sub(decimal, 1, -10)) or 0
    record.base_low = tonumber(string.sub(decimal, -9))
  end
  record.finish = math.min(record.from_base(ARGV[7]), LARGEST)
end

function record.page_name(number)
  return 'page:' .. ARGV[5] .. ':' .. text(number)
end

function record.slot_name(n)
  return 'slot:' .. ARGV[5] .. ':' .. text(n)
end

function record.set(name, value)
  local changes = record.changes
  changes[#changes + 1] = name
  changes[#changes + 1] = value
end

-- Reads the head, and the slot of the claim in the request. Returns the version of a record that
-- this script cannot read.
function record.load()
  local values
  if ARGV[19] == '' then
    values = redis.call('HMGET', KEYS[1], 'head')
  else
    local n = tonumber(ARGV[19])
    local page, slot = record.page_name(math.floor(n / PAGE)), record.slot_name(n)
    values = redis.call('HMGET', KEYS[1], 'head', page, slot)
  end
  local version, base = FORMAT, '0'
  local sid = ''
  record.incarnation, record.fingerprint = '', ''
  record.revision, record.guard, record.era = 0, 0, 1
  record.last_us, record.offset_us, record.top_us = 0, 0, 0
  if values[1] then
    local head = cmsgpack.unpack(values[1])
    version, base = head[1], head[2]
    if version ~= FORMAT then
      return tostring(version)
    end
    sid, record.incarnation, record.fingerprint = head[3], head[4], head[5]
    record.revision, record.guard, record.era = head[6], head[7], head[8]
    record.last_us, record.offset_us, record.top_us = head[9], head[10], head[11]
  end
  record.name(sid)
  record.count_from(base)
  if ARGV[19] ~= '' then
    record.hold(tonumber(ARGV[19]), values[2], values[3])
  end
end

-- The claim in the request (n, start, till, token), and the contents of its slot.
function record.hold(n, page, details)
  local held = { n = n, token = ARGV[22], slot_till = 0, slot_start = 0, taken = false }
  held.start, held.till = record.from_base(ARGV[20]), record.from_base(ARGV[21])
  if details then
    local number = math.floor(n / PAGE)
    record.pages[number] = page
    local till, era = struct.unpack('<dd', page, n % PAGE * BYTES + 1)
    local start, since_us, token = unpack(cmsgpack.unpack(details))
    held.slot_till, held.since_us = till, since_us
    held.slot_start = record.is_void(era) and till or start
    held.taken = era == record.era
    held.same = token == held.token
  end
  function held.stands()
    return held.taken and held.same
  end
  record.held = held
end

-- Clears every token. Such a slot is empty, unlike one that was given back.
function record.void()
  record.era = record.era + 1
  local held = record.held
  if held and held.taken then
    held.taken, held.slot_start = false, held.slot_till
  end
end

-- life: the sid as members are told it. waits: whether the wait after a loss is not over.
function record.name(sid)
  record.sid, record.waits = sid, string.sub(sid, 1, 1) == record.WAITS
  record.life = record.waits and string.sub(sid, 2) or sid
end

function record.is_void(era)
  return era ~= 0 and era ~= record.era
end

function record.put(n, till, start, token, holder, since_us)
  local number, at = math.floor(n / PAGE), n % PAGE * BYTES
  if record.pages[number] == nil then -- not seen, or not there
    record.pages[number] = redis.call('HMGET', KEYS[1], record.page_name(number))[1]
  end
  local page = record.pages[number] or string.rep('\0', PAGE * BYTES)
  local pair = struct.pack('<dd', till, token and record.era or 0)
  page = string.sub(page, 1, at) .. pair .. string.sub(page, at + BYTES + 1)
  record.set(record.page_name(number), page)
  local details = { start, since_us or 0, token or '', holder or '' }
  record.set(record.slot_name(n), cmsgpack.pack(details))
  if record.touched and n >= record.touched then
    record.set('touched:' .. ARGV[5], text(n + 1))
  end
end

function record.save()
  record.set('head', cmsgpack.pack({
    FORMAT, record.base, record.sid, record.incarnation, record.fingerprint, record.revision,
    record.guard, record.era, record.last_us, record.offset_us, record.top_us,
  }))
  redis.call('HSET', KEYS[1], unpack(record.changes))
end

-- Reads ``count`` pages of all, from number ``first`` on (page 0 follows the last one), and returns
-- their numbers in order.
function record.load_pages(first, count, all)
  local numbers, names = {}, {}
  for i = 1, count do
    numbers[i] = (first + i - 1) % all
    names[i] = record.page_name(numbers[i])
  end
  for from = 1, count, PAGES_AT_ONCE do
    local to = math.min(from + PAGES_AT_ONCE - 1, count)
    for i, page in ipairs(redis.call('HMGET', KEYS[1], unpack(names, from, to))) do
      record.pages[numbers[from + i - 1]] = page
    end
  end
  table.sort(numbers)
  return numbers
end

-- The slot for a grant, as Slots.best_free and Slots.lowest_floor have it, and its floor. Of many
-- slots it sees PAGES_SEEN pages from a random one on; if none of them is free, it takes one that
-- was never given, and only if there is none it sees all. So its cost does not grow.
-- late_from: as in Slots.best_free.
function record.choose(now, size, timed, late_from)
  record.touched = tonumber(redis.call('HMGET', KEYS[1], 'touched:' .. ARGV[5])[1] or 0)
  if not (record.touched <= size) then -- written by another program; also NaN
    error('more slots were given than there are')
  end
  local pages = math.ceil(record.touched / PAGE)
  local given = timed and record.guard <= now
  local untouched = record.touched < size and record.touched or nil
  if given and pages > PAGES_SEEN then
    local first = (tonumber(string.sub(ARGV[2], 1, 8), 16) or 0) % pages
    local best = record.scan(record.load_pages(first, PAGES_SEEN, pages), now, late_from)
    local n = best.fit or best.free or untouched
    if n then
      return n, best.fit and best.fit_till or record.guard
    end
  end
  local best = record.scan(record.load_pages(0, pages, pages), now, late_from)
  local free = best.free or untouched
  if given and (best.fit or free) then
    return best.fit or free, best.fit and best.fit_till or record.guard
  elseif given and best.late then
    return best.late, best.late_till
  elseif best.unheld or free then
    return best.unheld or untouched or free, record.guard
  end
  return best.least, best.least_till
end

-- One pass over the slots ever given of some pages. fit: the free one with the greatest floor, and
-- fit_till that floor; late: of those whose owner may only be late, the one that ended first, at
-- late_till; free: the first one whose floor is the guard, and unheld the first of those that is
-- not held; least: the one with the least floor, least_till.
function record.scan(numbers, now, late_from)
  local guard, era = record.guard, record.era
  local best = { fit_till = guard, late_till = math.huge, least_till = math.huge }
  for _, number in ipairs(numbers) do
    local page = { struct.unpack(PAIRS, record.pages[number]) }
    local n = number * PAGE
    for at = 1, 2 * math.min(PAGE, record.touched - n), 2 do
      local till = page[at]
      if till <= guard then
        best.free = best.free or n
        if not best.unheld and not (page[at + 1] == era and till > now) then
          best.unheld = n
        end
      elseif till <= now then
        if page[at + 1] == era and till > late_from then
          if till < best.late_till then
            best.late, best.late_till = n, till
          end
        elseif till > best.fit_till then
          best.fit, best.fit_till = n, till
        end
        if till < best.least_till then
          best.least, best.least_till, best.least_held = n, till, false
        end
      elseif till <= best.least_till then
        local taken = page[at + 1] == era
        if till < best.least_till or (best.least_held and not taken) then
          best.least, best.least_till, best.least_held = n, till, taken
        end
      end
      n = n + 1
    end
  end
  return best
end

-- Adds six texts for each slot ever given to a reply.
function record.holdings(reply)
  local fields = redis.call('HGETALL', KEYS[1])
  local value = {}
  for i = 1, #fields, 2 do
    value[fields[i]] = fields[i + 1]
  end
  for name, touched in pairs(value) do
    local first = string.match(name, '^touched:(.*)$')
    for n = 0, first and tonumber(touched) - 1 or -1 do
      local page = value['page:' .. first .. ':' .. text(math.floor(n / PAGE))]
      local till, era = struct.unpack('<dd', page, n % PAGE * BYTES + 1)
      local details = cmsgpack.unpack(value['slot:' .. first .. ':' .. text(n)])
      local start, since_us, token, holder = unpack(details)
      if era ~= record.era then
        since_us, token, holder = 0, '', ''
      end
      if record.is_void(era) then
        start = till
      end
      local parts = {
        first .. '+' .. text(n), record.to_decimal(start), record.to_decimal(till), token, holder,
        text(since_us),
      }
      for _, part in ipairs(parts) do
        reply[#reply + 1] = part
      end
    end
  end
  return reply
end
