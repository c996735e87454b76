-- heartbeat writes down when a user was heard of, and forgets whom nobody heard of for too long.
--
-- KEYS: 1 who is online (everywhere, or in a project).
-- ARGV: 1 user, or none, 2 ms a heartbeat lasts, 3 whether who is online is wanted (1), or only how many (0).
-- Returns: OK, how many are online, then user and time of each if wanted.
local online = KEYS[1]
local lasts = tonumber(ARGV[2])
local now = clock()
if ARGV[1] ~= '' then
  redis.call('ZADD', online, whole(now), ARGV[1])
  redis.call('PEXPIRE', online, whole(2 * lasts))
end
redis.call('ZREMRANGEBYSCORE', online, '-inf', whole(now - lasts))
return {'OK', redis.call('ZCARD', online), ARGV[3] == '1' and redis.call('ZRANGE', online, 0, -1, 'WITHSCORES') or {}}
