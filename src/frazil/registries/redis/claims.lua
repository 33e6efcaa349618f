-- The verbs of frazil's claim protocol on one namespace. One script: renew.lua, record.lua, this.
--
-- KEYS[1]  the namespace's hash. It has the whole record, which is therefore lost as a whole.
-- ARGV     1 verb: grant mint renew release initialise claim_past declare_past,
--          or look incarnation (which only read)
--          2 nonce: fresh random text, the token of a claim that is granted
--          3 fingerprint  4 layout: of the terms that all members of the namespace share
--          5 first: slot number (text)  6 size: how many slots this member may be given
--          7 end  8 horizon: ticks  9 tick: us, 0 for an axis without time
--          10 epoch: us since 1970. Also as tick_at(us) = 11 ticks + (us - 12 rest) / tick
--          13 sid  14 revision  15 now: what the member remembers of this record
--          16 witness: the member's clock  17 holder: its name
--          18 amount: want, ticks, until, used or start, by the verb; for initialise, "" means
--             that earlier grants are unknown; for claim_past, start and stop
--          19 slot (counted from first)  20 start  21 until  22 token: of the claim held, or ""
--          23 replicas that must confirm  24 data: identifies a counter's store, or ""
--          25 clock: 15, continued until now  26 reach: the highest tick that the member knows of
--          27 known: us since the member was first told the sid
-- Units    ticks count from the epoch; _us are microseconds, moments since 1970.
-- Reply    texts: kind, nonce, incarnation, then of (a counter's now_us is its guard and one)
--            claim     sid revision now_us slot token start until
--            wait      sid revision now_us ticks, 'guarded' if new or after a loss
--            lost seen sid revision now_us
--            refused   reading_us sid revision incarnation fingerprint layout guard last_us
--                      offset_us top_us: nothing was written, and record.py knows why
--            replicas  how many are connected: too many for so few confirmations
--            format    the version of a record that a newer frazil wrote
--            look      sid fingerprint layout now_us, then six texts a slot: number, start, until,
--                      token, holder, since_us
--            incarnation  nothing more
--          or the error READONLY, from a writable replica
--
-- A Lua number is a double, exact below 2^53. Microseconds since 1970 are exact until 2255. Larger
-- numbers are passed as decimal text: a counter's values are stored relative to its first one
-- ("base"), and slot numbers relative to the first of their range.
--
-- Functions are fields of a table because each call creates all of them, and a Lua closure costs
-- more the more locals it refers to.

local JUMP_US, WITNESS_US = 60000000, 10000000

local ask = {
  verb = ARGV[1], nonce = ARGV[2], fingerprint = ARGV[3], layout = ARGV[4],
  horizon = tonumber(ARGV[8]), tick_us = tonumber(ARGV[9]),
  seen_sid = ARGV[13], seen_revision = tonumber(ARGV[14]),
  holder = ARGV[17], replicas = tonumber(ARGV[23]),
}
ask.timed = ask.tick_us > 0
ask.wait = ask.horizon + math.ceil(ask.horizon / 8)

local verbs = {}

function verbs.tick_at(us)
  return tonumber(ARGV[11]) + math.floor((us - tonumber(ARGV[12])) / ask.tick_us)
end

-- The store's clock, in us since 1970.
function verbs.read_clock()
  local now = redis.call('TIME')
  verbs.reading_us = tonumber(now[1]) * 1000000 + tonumber(now[2])
end

-- A text that changes when the store may have lost or forked its history.
function verbs.read_incarnation()
  local replication, server = redis.call('INFO', 'replication'), redis.call('INFO', 'server')
  verbs.primary = string.find(replication, '\nrole:master\r', 1, true)
  local run = string.find(server, '\nrun_id:', 1, true)
  local history = string.find(replication, '\nmaster_replid:', 1, true)
  if not run or not history then
    error('INFO tells no run_id or master_replid, so a loss could not be noticed')
  end
  local all = string.sub(server, run + 8, run + 47)
  all = all .. '.' .. string.sub(replication, history + 15, history + 54)
  if ask.replicas > 0 then -- a returning replica may have another history
    local stats = redis.call('INFO', 'stats')
    all = all .. '.' .. string.match(stats, '\nsync_full:(%d+)')
    all = all .. '.' .. string.match(stats, '\nsync_partial_ok:(%d+)')
    verbs.connected = tonumber(string.match(replication, '\nconnected_slaves:(%d+)'))
  end
  verbs.incarnation = ARGV[24] == '' and all or ARGV[24] .. '/' .. all
end

-- Ends a verb: saves all changes in one step.
function verbs.answer(kind, now_us, ...)
  record.save()
  local now = ask.timed and text(now_us) or record.to_decimal(record.guard + 1)
  return { kind, ask.nonce, verbs.incarnation, record.life, text(record.revision), now, ... }
end

-- Ends a verb without changes. guard: the floor of the slot that was in the way, if any.
function verbs.refuse(guard)
  local found = record.found or record
  error({
    'refused', ask.nonce, verbs.incarnation, text(verbs.reading_us),
    found.sid, text(found.revision), found.incarnation, found.fingerprint,
    redis.call('HMGET', KEYS[1], 'layout')[1] or '', record.to_decimal(guard or record.guard),
    text(record.last_us), text(record.offset_us), text(record.top_us),
  })
end

function verbs.is_loss()
  if record.sid == '' or record.incarnation ~= verbs.incarnation then
    return true
  end
  local same = ask.seen_sid == record.life
  if same and ask.seen_revision > record.revision then
    return true
  end
  if record.waits then
    return false
  end
  local held = record.held
  if held and held.till > math.max(held.slot_till, record.guard)
    and (held.taken or held.slot_start ~= held.start) then
    return true
  end
  return ask.seen_sid ~= '' and not same
    and verbs.tick_at(tonumber(ARGV[15])) + ask.horizon > record.guard
end

-- In the wait after a loss: raises the guard to what a member remembers, or ends the wait.
function verbs.heed(now_us)
  local reach = record.from_base(ARGV[26])
  record.guard = math.max(record.guard, reach, record.held and record.held.till or 0)
  if ask.seen_sid == record.life then
    if tonumber(ARGV[27]) >= ask.wait * ask.tick_us then
      record.name(record.life)
    end
    return
  end
  local clock = verbs.tick_at(tonumber(ARGV[25]))
  if clock > verbs.tick_at(now_us) + math.floor(ask.horizon / 8) then
    record.guard = math.max(record.guard, clock + ask.wait)
  end
end

-- How many ticks nothing can be granted, as far as this member can tell.
function verbs.rest(now)
  if record.guard > now or not record.waits then
    return record.guard - now
  end
  local known = 0
  if ask.seen_sid == record.life then
    known = math.floor(tonumber(ARGV[27]) / ask.tick_us)
  end
  return math.max(ask.wait - known, 1)
end

-- Refuses a member with other terms. It may remember more than the one that made the record.
function verbs.refuse_terms()
  local found, guard = record.sid, record.guard
  if record.waits and ask.timed
    and redis.call('HMGET', KEYS[1], 'layout')[1] == ask.layout then
    verbs.heed(record.top_us)
    record.name(found)
    if record.guard > guard then
      record.revision = record.revision + 1
      record.save()
    end
  end
  verbs.refuse(guard)
end

-- Counters cannot wait out a loss; the part of the incarnation before "/" identifies the data.
function verbs.refuse_loss()
  local pattern = '^[^/]*'
  local same_data = string.match(record.incarnation, pattern)
    == string.match(verbs.incarnation, pattern)
  local same, reach = ask.seen_sid == record.sid, record.from_base(ARGV[26])
  local newer = ask.seen_sid == '' or (same and ask.seen_revision <= record.revision)
    or (ARGV[26] ~= '0' and reach <= record.guard)
  if record.sid ~= '' and same_data and not newer and (same or ARGV[26] ~= '0') then
    -- Only this member knows of the loss, so record it for all.
    local found = record.incarnation
    record.incarnation, record.revision = '', record.revision + 1
    record.save()
    record.incarnation, record.revision = found, record.revision - 1
  end
  if record.sid == '' or not same_data or not newer then
    verbs.refuse()
  end
  record.incarnation = verbs.incarnation
end

-- Assigns the record to this incarnation.
function verbs.establish(sid)
  record.found = {
    sid = record.sid, revision = record.revision, incarnation = record.incarnation,
    fingerprint = record.fingerprint,
  }
  record.name(sid)
  record.incarnation, record.fingerprint = verbs.incarnation, ask.fingerprint
  record.set('layout', ask.layout)
end

-- Reads the store's clock; returns "now", which never goes back.
function verbs.tell_time()
  if not ask.timed then
    return 0
  end
  local reading_us = verbs.reading_us
  local passed_us = reading_us - record.last_us
  if passed_us > JUMP_US and math.abs(tonumber(ARGV[16]) - reading_us) > WITNESS_US then
    verbs.refuse()
  end
  local offset_us = record.offset_us
  if passed_us < 0 or (passed_us > JUMP_US and 2 * passed_us > offset_us) then
    offset_us = offset_us - math.min(offset_us, passed_us)
  else
    offset_us = offset_us - math.min(offset_us, math.floor(passed_us / 8))
  end
  if ask.seen_sid == record.life and ARGV[15] ~= '0' then -- time passes as for this member
    local latest_us = math.max(tonumber(ARGV[25]), record.last_us + record.offset_us)
    offset_us = offset_us - math.min(offset_us, math.max(reading_us + offset_us - latest_us, 0))
  end
  local now_us = reading_us + offset_us
  if now_us < tonumber(ARGV[10]) then
    verbs.refuse()
  end
  record.last_us, record.offset_us = reading_us, offset_us
  record.top_us = math.max(record.top_us, now_us)
  return now_us
end

-- Begins every verb: check the terms, notice a loss, read the clock.
function verbs.arrive()
  if record.sid ~= '' and record.fingerprint ~= ask.fingerprint then
    verbs.refuse_terms()
  end
  if not ask.timed then
    verbs.refuse_loss()
    record.revision = record.revision + 1
    return 0
  end
  local lost = verbs.is_loss()
  local now_us = verbs.tell_time()
  if lost then
    verbs.establish(record.WAITS .. ask.nonce)
    local latest_us = math.max(verbs.reading_us, record.top_us, tonumber(ARGV[25]))
    record.guard = math.max(record.guard, verbs.tick_at(latest_us) + ask.wait)
    record.void()
  end
  if record.waits then
    verbs.heed(now_us)
  end
  record.revision = record.revision + 1
  return now_us
end

-- The first tick that may not be given.
function verbs.bound(now, start)
  return math.min((ask.timed and now or start) + ask.horizon, record.finish)
end

function verbs.grant(token)
  local want = tonumber(ARGV[18])
  local now_us = verbs.arrive()
  local now = ask.timed and verbs.tick_at(now_us) or record.finish
  local rest = ask.timed and verbs.rest(now) or 0
  if rest > 0 then
    return verbs.answer('wait', now_us, text(rest), 'guarded')
  end
  local n, start = record.choose(now, tonumber(ARGV[6]), ask.timed, now - ask.horizon)
  if ask.timed then
    start = math.max(start, now)
  end
  if start >= record.finish then
    verbs.refuse(start)
  end
  local limit = verbs.bound(now, start)
  local till = math.min(start + want, limit)
  local least = math.min(want, math.max(1, math.floor(ask.horizon / 100)), record.finish - start)
  if till - start < least then
    return verbs.answer('wait', now_us, text(start + least - limit), '')
  end
  if token == '' then
    record.put(n, till, start)
  else
    record.put(n, till, start, token, ask.holder, now_us)
  end
  local from, to = record.to_decimal(start), record.to_decimal(till)
  return verbs.answer('claim', now_us, text(n), token, from, to)
end

function verbs.renew()
  local target = record.from_base(ARGV[18])
  local now_us, held = verbs.arrive(), record.held
  if not held.stands() or held.slot_till ~= held.till then
    return verbs.answer('lost', now_us)
  end
  local limit = verbs.bound(ask.timed and verbs.tick_at(now_us), held.till)
  local till = math.max(held.till, math.min(target, limit))
  record.put(held.n, till, held.slot_start, held.token, ask.holder, held.since_us)
  local from, to = record.to_decimal(held.slot_start), record.to_decimal(till)
  return verbs.answer('claim', now_us, text(held.n), held.token, from, to)
end

function verbs.release()
  local used = record.from_base(ARGV[18])
  local now_us, held = verbs.arrive(), record.held
  if not held.stands() or used < held.slot_start or used > held.slot_till then
    return verbs.answer('lost', now_us)
  end
  record.put(held.n, used, held.slot_start)
  return verbs.answer('seen', now_us)
end

-- Moves an existing counter beyond all its values.
function verbs.move_on(start)
  if ask.timed or record.fingerprint ~= ask.fingerprint then
    verbs.refuse()
  end
  local top, slots = record.guard, record.holdings({})
  for i = 3, #slots, 6 do
    top = math.max(top, record.from_base(slots[i]))
  end
  if record.from_base(start) <= top then
    verbs.refuse(top)
  end
  record.void()
end

function verbs.initialise()
  local start = ARGV[18]
  if start == '' and record.sid == '' then
    return verbs.answer('seen', verbs.arrive())
  elseif start == '' then
    verbs.refuse()
  end
  if string.sub(start, 1, 1) == '-' then
    verbs.refuse()
  end
  if record.sid ~= '' then
    verbs.move_on(start)
  elseif not ask.timed then
    record.count_from(start)
  end
  if record.finish <= record.from_base(start) then
    verbs.refuse()
  end
  local now_us = verbs.tell_time()
  verbs.establish(ask.nonce)
  record.guard = record.from_base(start)
  return verbs.answer('seen', now_us)
end

-- The tick from which on the past is known, as claims/past.py has it; nil if it is unknown.
function verbs.known_from()
  local layout = redis.call('HMGET', KEYS[1], 'layout')[1] or ''
  local declared = tonumber(string.match(layout, ' | past from (%d+)$'))
  if declared or record.guard == 0 then
    return declared
  end
  return record.guard + math.ceil(60000000 / ask.tick_us)
end

-- claim_past and declare_past.
function verbs.past()
  if not ask.timed then
    verbs.refuse()
  end
  local now_us = verbs.arrive()
  local now = verbs.tick_at(now_us)
  local rest = verbs.rest(now)
  if rest > 0 then
    return verbs.answer('wait', now_us, text(rest), 'guarded')
  elseif ask.verb == 'declare_past' then
    if tonumber(ARGV[18]) > now then
      verbs.refuse()
    end
    record.set('layout', ask.layout .. ' | past from ' .. ARGV[18])
    return verbs.answer('seen', now_us)
  end
  now = math.min(now, record.finish)
  local known, guard = verbs.known_from(), record.guard
  local start, stop = string.match(ARGV[18], '^(%S+) (%S+)$')
  start = start == '-1' and known or tonumber(start)
  stop = stop == '0' and now or tonumber(stop)
  if not known or start < known or start >= stop or stop > now then
    verbs.refuse()
  end
  record.guard = known
  local n, floor = record.choose(start, tonumber(ARGV[6]), true, now - ask.horizon)
  record.guard = guard
  if floor > start then
    return verbs.answer('lost', now_us)
  end
  record.put(n, stop, start)
  return verbs.answer('claim', now_us, text(n), '', text(start), text(stop))
end

function verbs.look()
  verbs.read_clock()
  return record.holdings({
    'look', ask.nonce, verbs.incarnation, record.sid, record.fingerprint,
    redis.call('HMGET', KEYS[1], 'layout')[1] or '',
    text(math.max(verbs.reading_us, record.last_us) + record.offset_us),
  })
end

function verbs.main()
  local verb = ask.verb
  verbs.read_incarnation()
  if verb == 'incarnation' then
    return { verb, ask.nonce, verbs.incarnation }
  end
  local newer = record.load()
  if newer then
    return { 'format', ask.nonce, verbs.incarnation, newer }
  elseif verb == 'look' then
    return verbs.look()
  elseif not verbs.primary then -- a writable replica has the same record as its primary
    return redis.error_reply('READONLY this is a replica')
  elseif ask.replicas > 0 and 2 * ask.replicas < verbs.connected then
    return { 'replicas', ask.nonce, verbs.incarnation, text(verbs.connected) }
  end
  verbs.read_clock()
  if verb == 'grant' then
    return verbs.grant(ask.nonce)
  elseif verb == 'mint' then
    return verbs.grant('')
  elseif verb == 'initialise' then
    return verbs.initialise()
  elseif verb == 'claim_past' or verb == 'declare_past' then
    return verbs.past()
  elseif not record.held then
    if record.sid ~= '' and record.fingerprint ~= ask.fingerprint then
      verbs.refuse_terms()
    elseif not ask.timed and record.fingerprint == ask.fingerprint then
      verbs.refuse_loss() -- a loss is noticed before the missing claim
    end
    verbs.refuse()
  elseif verb == 'renew' then
    return verbs.renew()
  elseif verb == 'release' then
    return verbs.release()
  end
  error('no such verb: ' .. verb)
end

local fine, reply = pcall(verbs.main)
if not fine and type(reply) ~= 'table' then
  return redis.error_reply('FRAZIL ' .. tostring(reply))
end
return reply
