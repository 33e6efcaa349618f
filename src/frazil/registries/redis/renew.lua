-- The usual renewal, of an unchanged record. The first part of the script of claims.lua, which
-- describes KEYS, ARGV, units and the reply.
--
-- It repeats verbs.renew without functions: creating the functions of that script costs a server
-- more than this whole part. In every other case (a loss, a clock step, another owner) it does
-- nothing, and the verbs that follow run.

if ARGV[1] == 'renew' and ARGV[9] ~= '0' and ARGV[19] ~= '' and ARGV[23] == '0' then
  local n = tonumber(ARGV[19])
  local at = n % 32 * 16
  local page_name = string.format('page:%s:%.0f', ARGV[5], math.floor(n / 32))
  local slot_name = 'slot:' .. ARGV[5] .. ':' .. ARGV[19]
  local values = redis.call('HMGET', KEYS[1], 'head', page_name, slot_name)
  local head = values[1] and values[3] and cmsgpack.unpack(values[1])
  if head and head[1] == 1 and tonumber(head[2]) == 0 then
    local till, era = struct.unpack('<dd', values[2], at + 1)
    local details = cmsgpack.unpack(values[3])
    local incarnation, revision, tick_us = head[4], head[6], tonumber(ARGV[9])
    local run = '\nrun_id:' .. string.sub(incarnation, 1, 40)
    local history = '\nmaster_replid:' .. string.sub(incarnation, 42)
    local replication = redis.call('INFO', 'replication')
    local now = redis.call('TIME')
    local now_us = tonumber(now[1]) * 1000000 + tonumber(now[2])
    local passed_us = now_us - head[9]
    if head[3] == ARGV[13] and head[5] == ARGV[3] and revision >= tonumber(ARGV[14])
      and era == head[8] and details[3] == ARGV[22] and till == tonumber(ARGV[21])
      and head[10] == 0 and passed_us >= 0 and passed_us <= 60000000
      and #incarnation == 81
      and string.find(redis.call('INFO', 'server'), run, 1, true)
      and string.find(replication, history, 1, true)
      and string.find(replication, '\nrole:master\r', 1, true)
    then
      local tick = tonumber(ARGV[11]) + math.floor((now_us - tonumber(ARGV[12])) / tick_us)
      local limit = math.min(tick + tonumber(ARGV[8]), tonumber(ARGV[7]), 9007199254740992)
      till = math.max(till, math.min(tonumber(ARGV[18]), limit))
      local pair = struct.pack('<dd', till, era)
      head[6], head[9], head[11] = revision + 1, now_us, math.max(head[11], now_us)
      details[4] = ARGV[17]
      redis.call(
        'HSET', KEYS[1], 'head', cmsgpack.pack(head), slot_name, cmsgpack.pack(details),
        page_name, string.sub(values[2], 1, at) .. pair .. string.sub(values[2], at + 17)
      )
      return {
        'claim', ARGV[2], incarnation, head[3], string.format('%.0f', revision + 1),
        string.format('%.0f', now_us), ARGV[19], ARGV[22], ARGV[20], string.format('%.0f', till),
      }
    end
  end
end
