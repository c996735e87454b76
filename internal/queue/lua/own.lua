-- own makes a stream of messages a consumer's, keeps it so, or gives it up. Of those that would like to have it, the one that has fewest
-- is given it when the owner has at least two more.
--
-- KEYS: 1 owner, 2 wanted.
-- ARGV: 1 consumer, 2 ms until somebody else may have it (0 gives it up), 3 streams that the consumer has, 4 whether it may be handed over (1
--   or 0).
-- Returns: OK and whether it is the consumer's (1 or 0).
local owner, wanted = KEYS[1], KEYS[2]
local me, has = ARGV[1], tonumber(ARGV[3])
local current = redis.call('GET', owner)
local other = redis.call('GET', wanted)
if other then other = cjson.decode(other) end
if ARGV[2] == '0' then
  if current == me then redis.call('DEL', owner) end
  if other and other.consumer == me then redis.call('DEL', wanted) end
  return {'OK', 0}
end
if current and current ~= me then
  if not other or other.consumer == me or has <= other.has then
    redis.call('SET', wanted, cjson.encode({consumer = me, has = has}), 'PX', ARGV[2])
  end
  return {'OK', 0}
end
if ARGV[4] == '1' and other and other.consumer ~= me and has > other.has + 1 then
  redis.call('SET', owner, other.consumer, 'PX', ARGV[2])
  redis.call('DEL', wanted)
  return {'OK', 0}
end
redis.call('SET', owner, me, 'PX', ARGV[2])
return {'OK', 1}
