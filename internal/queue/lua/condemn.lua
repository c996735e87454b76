-- condemn has a project rebuilt, unless that has been done since.
--
-- KEYS: 1 epoch.
-- ARGV: 1 the epoch that is wrong.
-- Returns: OK and whether it was still that (1 or 0).
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'OK', 0} end
redis.call('DEL', KEYS[1])
return {'OK', 1}
