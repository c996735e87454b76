-- lease gives a user efforts to review: what the user has without what is done, and then the first of some that nobody has. What a user has for
-- more than is wanted is given back.
--
-- KEYS: 1 epoch, 2 efforts that reviewers have, 3 those of the user.
-- ARGV: 1 how many are wanted, 2 ms a lease lasts, 3 how many that are done follow, 4... these, then candidates.
-- Returns: OK, then the efforts; NOTREADY.
local leased, mine = KEYS[2], KEYS[3]
local wanted, lasts, done = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTREADY'} end
local now = clock()
local ends = whole(now + lasts)
redis.call('ZREMRANGEBYSCORE', leased, '-inf', whole(now))
redis.call('ZREMRANGEBYSCORE', mine, '-inf', whole(now))
local function drop(effort)
  redis.call('ZREM', mine, effort)
  redis.call('ZREM', leased, effort)
end
for i = 4, 3 + done do
  if redis.call('ZSCORE', mine, ARGV[i]) then drop(ARGV[i]) end
end
local reply = {'OK'}
local function take(effort)
  reply[#reply + 1] = effort
  redis.call('ZADD', leased, ends, effort)
  redis.call('ZADD', mine, ends, effort)
end
for _, effort in ipairs(redis.call('ZRANGE', mine, 0, -1)) do
  if #reply <= wanted then take(effort) else drop(effort) end
end
for i = 4 + done, #ARGV do
  if #reply > wanted then break end
  if not redis.call('ZSCORE', leased, ARGV[i]) then take(ARGV[i]) end
end
-- Each ends with the last of its leases: those of others may be longer.
local last = redis.call('ZREVRANGE', leased, 0, 0, 'WITHSCORES')[2]
if last then redis.call('PEXPIREAT', leased, whole(tonumber(last))) end
redis.call('PEXPIREAT', mine, ends)
return reply
