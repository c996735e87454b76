-- begin marks a project as not ready, for one rebuild at a time.
--
-- KEYS: 1 rebuild, 2 epoch.
-- ARGV: 1 token, 2 ms until somebody else may take over, 3 whether to rebuild what is ready too (1 or 0).
-- Returns: OK and whether the rebuild has begun (1), or nobody needs it (0); REBUILDING.
local rebuild, epoch = KEYS[1], KEYS[2]
if ARGV[3] == '0' and redis.call('EXISTS', epoch) == 1 then return {'OK', 0} end
local other = redis.call('GET', rebuild)
if other and other ~= ARGV[1] then return {'REBUILDING'} end
redis.call('SET', rebuild, ARGV[1], 'PX', ARGV[2])
redis.call('DEL', epoch)
return {'OK', 1}
