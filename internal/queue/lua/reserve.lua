-- reserve gives a user items: what came back to the user, what the user put off until now, then the head of the queue without
-- what the user does not want again, which goes to its end, or out of it when it is all that there is. The same reservation a second time returns the same items.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 wip, 6 claims, 7 held, 8 user queue, 9 user returned, 10 user later, 11 user skipped.
-- ARGV: 1 user, 2 ms of a reservation, 3 claims a user may have, 4 ids to look at in the queue, 5 how many tokens follow of claims that
--   have ended and do not count, 6... these, then a token for each item wanted.
-- Returns: OK, now, then item and token of each item reserved; NOTREADY, PAUSED or FULL.
local epoch, metadata, queue, queued, wip, claims, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local mine, returned, later, skipped = KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local user, lasts, most, look = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local now = clock()

local ended, wanted, tokens = {}, {}, {}
local first = 6 + tonumber(ARGV[5])
for i = 6, first - 1 do ended[ARGV[i]] = true end
for i = first, #ARGV do
  tokens[#tokens + 1] = ARGV[i]
  wanted[ARGV[i]] = true
end

local reply, have = {'OK', whole(now)}, 0
for _, item in ipairs(redis.call('ZRANGE', mine, 0, -1)) do
  local claim = claimOf(claims, item)
  if not claim or claim.user ~= user then
    redis.call('ZREM', mine, item) -- it ended while the user queue was out of sight
  elseif not ended[claim.token] then
    have = have + 1
    if wanted[claim.token] then
      reply[#reply + 1] = item
      reply[#reply + 1] = claim.token
    end
  end
end
if #reply > 2 then return reply end
if redis.call('HGET', metadata, 'paused') == '1' then return {'PAUSED'} end
local n = math.min(#tokens, most - have)
if n <= 0 then return {'FULL'} end

local taken = 0
local function take(item, from)
  taken = taken + 1
  local token = tokens[taken]
  redis.call('HSET', claims, item, cjson.encode({
    user = user, token = token, since = whole(now), ['until'] = whole(now + lasts), counted = false, from = from}))
  redis.call('ZADD', wip, whole(now + lasts), item)
  redis.call('ZADD', mine, whole(now), item)
  redis.call('ZREM', held, item)
  unqueue(queue, queued, item)
  reply[#reply + 1] = item
  reply[#reply + 1] = token
end

while taken < n do
  local item = redis.call('LPOP', returned)
  if not item then break end
  if redis.call('HEXISTS', claims, item) == 0 then take(item, 'returned') end
end

while taken < n do
  local due = redis.call('ZRANGEBYSCORE', later, '-inf', whole(now), 'LIMIT', 0, 1)[1]
  if not due then break end
  redis.call('ZREM', later, due)
  if redis.call('HEXISTS', claims, due) == 0 and not redis.call('ZSCORE', held, due) then take(due, 'later') end
end

local aside = {}
for _ = 1, math.min(look, redis.call('LLEN', queue)) do
  if taken >= n then break end
  local item = redis.call('LPOP', queue)
  if redis.call('HEXISTS', claims, item) == 1 then
    redis.call('SREM', queued, item)
  elseif redis.call('SISMEMBER', skipped, item) == 1 or redis.call('ZSCORE', later, item) then
    aside[#aside + 1] = item
  else
    redis.call('SREM', queued, item)
    take(item, 'queue')
  end
end
-- Where nothing else waits, these make room for what waits in the truth: they are found there again.
local room = taken == 0 and redis.call('LLEN', queue) == 0
for _, item in ipairs(aside) do
  if room then redis.call('SREM', queued, item) else redis.call('RPUSH', queue, item) end
end
if taken > 0 then redis.call('PERSIST', mine) end
return reply
