-- abort ends a rebuild and throws away what it prepared; the project stays not ready.
--
-- KEYS: 1 rebuild, 2... everything that is staged.
-- ARGV: 1 token.
-- Returns: OK.
local rebuild = KEYS[1]
if redis.call('GET', rebuild) == ARGV[1] then redis.call('DEL', rebuild) end
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return {'OK'}
