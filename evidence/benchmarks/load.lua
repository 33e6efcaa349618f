-- For evidence/benchmarks/service.py: `wrk ... -s load.lua URL -- FILE PAUSE_MS METHOD TOKEN`.
-- Every body is kept in FILE, so that no ID of a run goes uncompared. PAUSE_MS: a connection's
-- pause before each request. The figures come last, as JSON. One thread: FILE has one writer.

local kept
local pause = 0

function init(args)
  kept = assert(io.open(args[1], "wb"))
  pause = tonumber(args[2])
  if args[3] == "POST" then
    wrk.method = "POST"
    wrk.headers["Accept"] = "application/octet-stream"
  end
  if args[4] ~= "" then
    wrk.headers["Authorization"] = "Bearer " .. args[4]
  end
end

function delay() -- in whole ms, so the rest is thrown for
  return math.floor(pause + math.random())
end

function response(status, headers, body)
  kept:write(body)
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "us": %d, "p99_us": %d, "errors": %d}\n',
    summary.requests, summary.duration, latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout
  ))
end
