-- Issues IDs of the scheme "icicle" inside a Redis or Valkey server (6.2 or newer, or a cluster).
--
-- KEYS[1]  the namespace's hash, frazil:icicle:{namespace}, with all of its state
-- ARGV     an argument that is empty, or omitted at the end, has the default in brackets
--          1 verb: issue; init (set the shard of this server); look, incarnation (read-only)
--          2 nonce: any text, which is returned in the reply []
--          3 count: how many IDs, 1..4096000 [1]
--          4 lead: us that IDs may be ahead of the clock, 0..1000000 [0]
--          5 shard: 0..1023. init: the shard to set. issue: the shard that the server must have;
--            a server that lost its shard gets this one [any]
--          6 seen: the highest top_us in a reply of this server to the caller [0]
--          7 witness: the caller's clock, us since 1970. A jump of the server's clock by more than
--            60 s is accepted only if the witness agrees within 10 s [no check]
--          8 replicas: how many confirm each reply (by WAIT, which the caller sends next) [0]
--          9 new: init: 1 if no server ever had this shard, so that no ID has to wait [0]
--          10 pool: init: a text for the replies to look; frazil stores here which server of the
--            pool has which shard [unchanged]
--          11 continued: seen, plus the time since the caller sent the request for that reply.
--            After a loss this is what the lost clock would show now [seen]
-- Units    us are microseconds, moments since 1970. A tick is a millisecond since EPOCH_US.
-- Reply    texts: kind, nonce, incarnation, then
--            ids       shard top_us wait_us, then for each span the first ID and how many: these
--                      are first, first + 1, ... . There may be fewer than requested, or none;
--                      the next are available in wait_us.
--            init      shard top_us wait_us
--            look      shard top_us wait_us tick next guard last_us offset_us now_us ("" if unset)
--                      pool
--            incarnation  nothing more
--          or an error, "ICICLE <code>: <next step>", or READONLY from a writable replica; then
--          nothing was changed
--
-- An ID is sign:1=0 time:41 node:10 sequence:12; the node is the shard. (tick, next) is the first
-- cell not issued, and only grows. Each server has its own shard. So no ID repeats. The clock moves
-- the tick ahead, and a step back of the clock has no effect. A server that may have lost state
-- (another incarnation) continues after a guard, one horizon ahead, which the lost state cannot
-- have reached. A Lua number is exact below 2^53, so IDs are composed as text.

local EPOCH_US, TICK_US, LAST_TICK = 1455788600316000, 1000, 2199023255551
local SEQUENCES, LAST_SHARD, MOST_IDS, MOST_LEAD_US = 4096, 1023, 4096000, 1000000
local HORIZON_US, JUMP_US, WITNESS_US = 5000000, 60000000, 10000000
local LAYOUT = 'sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z'
local EXACT = 9007199254740992

local function refused(code, advice)
  return redis.error_reply('ICICLE ' .. code .. ': ' .. advice)
end

local function text(number)
  return string.format('%.0f', number)
end

-- A whole number within limits; "absent" without an argument, nil for any other text.
local function whole(given, absent, most)
  if not given or given == '' then
    return absent
  end
  local number = string.find(given, '^%d+$') and tonumber(given)
  return number and number <= most and number or nil
end

-- A text that changes when the server may have lost or forked its history: run_id, master_replid,
-- and, if replicas confirm, the number of their synchronisations.
local verb, nonce = ARGV[1], ARGV[2] or ''
local replicas = whole(ARGV[8], 0, EXACT)
local server, replication = redis.call('INFO', 'server'), redis.call('INFO', 'replication')
local run = string.find(server, '\nrun_id:', 1, true)
local history = string.find(replication, '\nmaster_replid:', 1, true)
if not run or not history then
  return refused('INFO', 'it tells no run_id or master_replid, so a loss could not be noticed')
end
local incarnation = string.sub(server, run + 8, run + 47)
  .. '.' .. string.sub(replication, history + 15, history + 54)
local plain_length, connected = #incarnation, 0
if replicas ~= 0 then
  connected = tonumber(string.match(replication, '\nconnected_slaves:(%d+)'))
  local stats = redis.call('INFO', 'stats')
  incarnation = incarnation .. '.' .. string.match(stats, '\nsync_full:(%d+)')
    .. '.' .. string.match(stats, '\nsync_partial_ok:(%d+)')
end
if verb == 'incarnation' then
  return { verb, nonce, incarnation }
end

local found = redis.pcall(
  'HMGET', KEYS[1], 'layout', 'incarnation', 'shard', 'tick', 'next', 'guard', 'last', 'offset',
  'top', 'pool'
)
if found.err then
  if string.find(found.err, 'WRONGTYPE', 1, true) then
    return refused('KEY', KEYS[1] .. ' holds something else; choose another namespace')
  end
  return found
elseif found[1] and found[1] ~= LAYOUT then
  return refused('LAYOUT', 'it issues IDs of another layout, ' .. found[1] .. ', under '
    .. KEYS[1] .. '; choose another namespace, or the frazil that wrote it')
end
local shard = tonumber(found[3] or '')
local tick, next_sequence = tonumber(found[4] or 0), tonumber(found[5] or 0)
local guard, last_us = tonumber(found[6] or 0), tonumber(found[7] or 0)
local offset_us, top_us = tonumber(found[8] or 0), tonumber(found[9] or 0)

if found[2] and not (
  shard and tick and next_sequence and guard and last_us and offset_us and top_us
  and shard >= 0 and shard <= LAST_SHARD and next_sequence >= 0 and next_sequence < SEQUENCES
) then
  return refused('STATE', 'another program wrote to ' .. KEYS[1]
    .. '; DEL it and give the server its shard again: frazil init icicle://THIS-SERVER --shard N')
end

-- Check all arguments before anything is changed.
local count = whole(ARGV[3], 1, MOST_IDS)
local lead_us = whole(ARGV[4], 0, MOST_LEAD_US)
local wanted = whole(ARGV[5], -1, LAST_SHARD)
local seen_us, witness_us = whole(ARGV[6], 0, EXACT), whole(ARGV[7], -1, EXACT)
local continued_us = whole(ARGV[11], seen_us, EXACT)
if verb ~= 'issue' and verb ~= 'init' and verb ~= 'look' then
  return refused('VERB', 'use issue, init, look or incarnation')
elseif not count or count == 0 then
  return refused('COUNT', 'request 1 to ' .. text(MOST_IDS) .. ' IDs at a time')
elseif not lead_us then
  return refused('LEAD', 'the lead is 0 to ' .. text(MOST_LEAD_US) .. ' us')
elseif not wanted or (verb == 'init' and wanted < 0) then
  return refused('SHARD', 'a shard is 0 to ' .. text(LAST_SHARD))
elseif not seen_us or not witness_us or not replicas or not continued_us then
  return refused('NUMBER', 'seen, witness, replicas and continued are whole numbers from 0 on')
elseif verb ~= 'look' and shard and wanted >= 0 and wanted ~= shard then
  return refused('TAKEN', 'its shard is ' .. text(shard) .. ' and not ' .. text(wanted)
    .. '; to change that, DEL ' .. KEYS[1] .. ' and run frazil init with a shard that is free')
elseif verb == 'issue' and not shard and wanted < 0 then
  return refused('UNSET', 'it has no shard for ' .. KEYS[1]
    .. '; give it one that no other server has: frazil init icicle://THIS-SERVER --shard N')
elseif verb ~= 'look' and not string.find(replication, '\nrole:master\r', 1, true) then
  return redis.error_reply('READONLY this is a replica, and has the shard of its primary')
elseif replicas == 0 and found[2] and #found[2] > plain_length then
  return refused('CONFIRM', 'other callers require replicas; use ?replicas= as they do')
elseif 0 < replicas and replicas * 2 < connected then
  return refused('REPLICAS', 'too few confirm, so two halves could both continue; raise ?replicas=')
end

-- The clock, which never goes back: a step back is added to an offset, which shrinks by at most an
-- eighth of the time that passes. A jump forward of more than half of the offset means that the
-- clock was corrected, so the whole jump is subtracted.
local clock = redis.call('TIME')
local reading_us = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local passed_us = reading_us - last_us
if passed_us > JUMP_US and witness_us >= 0 and math.abs(witness_us - reading_us) > WITNESS_US then
  return refused('CLOCK', 'its clock says ' .. text(reading_us) .. ' us and the caller\'s '
    .. text(witness_us) .. '; set the one that is wrong')
elseif passed_us < 0 or (passed_us > JUMP_US and 2 * passed_us > offset_us) then
  offset_us = offset_us - math.min(offset_us, passed_us)
else
  offset_us = offset_us - math.min(offset_us, math.floor(passed_us / 8))
end
local now_us = reading_us + offset_us
if now_us < EPOCH_US then
  return refused('CLOCK', 'its clock is before 2016, where the layout begins; set it')
end
if verb == 'look' then
  local wait_us = math.max(0, EPOCH_US + math.max(guard, tick) * TICK_US - now_us)
  return {
    verb, nonce, incarnation, shard and text(shard) or '', text(top_us), text(wait_us), text(tick),
    text(next_sequence), text(guard), text(last_us), text(offset_us), text(now_us),
    found[10] or '',
  }
end

-- A first use and a loss look alike: continue after everything that can have been issued.
local lost = found[2] ~= incarnation or seen_us > top_us
if lost then
  local latest_us = math.max(reading_us, now_us, top_us, seen_us, continued_us)
  guard = math.max(guard, math.floor((latest_us + HORIZON_US - EPOCH_US) / TICK_US) + 1)
  if verb == 'init' and not shard and ARGV[9] == '1' then
    guard = 0
  end
  top_us = math.max(top_us, seen_us, continued_us)
end
shard = shard or wanted

-- The cells, from the first not issued to the last that the clock and the lead allow.
tick = math.max(tick, guard, math.floor((now_us - EPOCH_US) / TICK_US))
if tick > LAST_TICK then
  return refused('EXHAUSTED', 'the time field ends in 2085; use another layout')
end
local limit = math.min(LAST_TICK, math.floor((now_us + lead_us - EPOCH_US) / TICK_US))
local reply = { verb == 'init' and verb or 'ids', nonce, incarnation, text(shard), '', '' }
local left = verb == 'issue' and count or 0
while left > 0 and tick <= limit do
  local taken = math.min(left, SEQUENCES - next_sequence)
  -- The ID in two exact parts: the millions, and the rest below a million.
  local low = tick % 1000000 * 4194304 + shard * SEQUENCES + next_sequence
  local high = math.floor(tick / 1000000) * 4194304 + math.floor(low / 1000000)
  local first = high > 0 and text(high) .. string.format('%06.0f', low % 1000000) or text(low)
  reply[#reply + 1], reply[#reply + 2] = first, text(taken)
  next_sequence, left = next_sequence + taken, left - taken
  if next_sequence == SEQUENCES then
    tick, next_sequence = tick + 1, 0
  end
end
if lost then
  redis.call(
    'HSET', KEYS[1], 'layout', LAYOUT, 'incarnation', incarnation, 'shard', shard, 'guard', guard
  )
end
if verb == 'init' and ARGV[10] and ARGV[10] ~= '' then
  redis.call('HSET', KEYS[1], 'pool', ARGV[10])
end
if lost or left < count then
  top_us = math.max(top_us, now_us)
  redis.call(
    'HSET', KEYS[1], 'tick', tick, 'next', next_sequence, 'last', reading_us, 'offset', offset_us,
    'top', top_us
  )
end
reply[5] = text(top_us) -- as stored: a caller that has seen more notices a loss
reply[6] = text(math.max(0, EPOCH_US + tick * TICK_US - lead_us - now_us))
return reply
