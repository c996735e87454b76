-- progress writes down how far a rebuild is, which also keeps it from being taken over; or that it is over.
--
-- KEYS: 1 rebuild, 2 progress, 3 metadata.
-- ARGV: 1 token, 2 items read, or nothing when it is over, 3 ms until somebody else may take over, 4 how many items there are where Redis
--   does not know; 0 as long as nobody does.
-- Returns: OK; REBUILDING when somebody else took over.
local rebuild, progress, metadata = KEYS[1], KEYS[2], KEYS[3]
local ours = redis.call('HGET', progress, 'token') == ARGV[1]
if ARGV[2] == '' then
  if ours then redis.call('DEL', progress) end
  return {'OK'}
end
if redis.call('GET', rebuild) ~= ARGV[1] then return {'REBUILDING'} end
redis.call('PEXPIRE', rebuild, ARGV[3])
if not ours then
  redis.call('DEL', progress)
  redis.call('HSET', progress, 'token', ARGV[1], 'started', whole(clock()), 'total', redis.call('HGET', metadata, 'total-items') or '0')
end
if redis.call('HGET', progress, 'total') == '0' then redis.call('HSET', progress, 'total', ARGV[4]) end
redis.call('HSET', progress, 'read', ARGV[2])
redis.call('PEXPIRE', progress, ARGV[3])
return {'OK'}
