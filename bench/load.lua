-- Requests for wrk. Arguments: MODE SEED KEY FILE [SYMBOLS]
--   new:      rewards with new keys for random users, which are the lines of FILE
--   batch:    batches of 1,000 of them
--   overload: the same, and counts every answer by status
--   replay:   bodies, which are the lines of FILE, at random
--   users:    users with new external ids
--   get:      paths, which are the lines of FILE, at random
local threads, lines, symbols = {}, {}, {}

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("number", #threads)
end

local function pick(list) return list[math.random(#list)] end

local function hex(digits)
  return string.format("%0" .. digits .. "x", math.random(0, 16 ^ digits - 1))
end

-- newKey returns a random UUID.
local function newKey()
  return hex(8) .. "-" .. hex(4) .. "-4" .. hex(3) .. "-a" .. hex(3) .. "-" .. hex(6) .. hex(6)
end

local function newReward()
  local cents = math.random(100, 1999)
  return string.format('{"userId":"%s","idempotencyKey":"%s","amountUsd":%d.%02d,"assetSymbol":"%s",' ..
    '"source":"referral","metadata":{"campaign":"spring"}}',
    pick(lines), newKey(), math.floor(cents / 100), cents % 100, pick(symbols))
end

local function newBatch()
  local items = {}
  for i = 1, 1000 do items[i] = newReward() end
  return '{"rewards":[' .. table.concat(items, ",") .. "]}"
end

-- count counts answers by status, and 503 without Retry-After.
local function count(status, headers)
  if status == 201 then created = created + 1
  elseif status == 503 then
    refused = refused + 1
    local found = false
    for name in pairs(headers) do found = found or name:lower() == "retry-after" end
    if not found then unadvised = unadvised + 1 end
  else other = other + 1 end
end

function init(args)
  local mode, seed, key, file = args[1], tonumber(args[2]), args[3], args[4]
  math.randomseed(seed + number)
  for line in io.lines(file) do lines[#lines + 1] = line end
  for symbol in (args[5] or ""):gmatch("[^,]+") do symbols[#symbols + 1] = symbol end
  created, refused, unadvised, other = 0, 0, 0, 0
  if mode == "overload" then response = count end
  local head = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\nX-Api-Key: " .. key .. "\r\n"
  if mode == "get" then
    request = function() return "GET " .. pick(lines) .. head .. "\r\n" end
    return
  end
  local body = newReward
  if mode == "replay" then body = function() return pick(lines) end end
  local path = "/v1/rewards"
  if mode == "users" then
    path, body = "/v1/users", function() return '{"externalId":"' .. newKey() .. '"}' end
  end
  if mode == "batch" then path, body = "/v1/rewards/batches", newBatch end
  head = "POST " .. path .. head .. "Content-Type: application/json\r\nContent-Length: "
  request = function()
    local b = body()
    return head .. #b .. "\r\n\r\n" .. b
  end
end

function done(summary, latency)
  local sum = {created = 0, refused = 0, unadvised = 0, other = 0}
  for name in pairs(sum) do
    for _, thread in ipairs(threads) do sum[name] = sum[name] + thread:get(name) end
  end
  local e = summary.errors
  print(string.format("\nRESULT requests=%d us=%d p50=%d p99=%d max=%d status=%d socket=%d timeout=%d " ..
    "created=%d refused=%d unadvised=%d other=%d",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    e.status, e.connect + e.read + e.write, e.timeout,
    sum.created, sum.refused, sum.unadvised, sum.other))
end
