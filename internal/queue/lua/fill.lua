-- fill appends ids to the queue, up to its size; never one that waits already, is reserved or claimed, or is kept for its author.
-- Nor more than items are counted as NEW that are none of those: an import stores items a moment before they are counted, and if they
-- were claimed by then, fewer than none would count as NEW.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 queued, 5 claims, 6 held.
-- ARGV: 1 size of queues without a size of their own, 2... ids.
-- Returns: OK, how many of the ids were new, and how many are still missing; NOTREADY.
local epoch, metadata, queue, queued, claims, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
redis.call('ZREMRANGEBYSCORE', held, '-inf', whole(clock())) -- authors who did not come
local n = redis.call('HMGET', metadata, 'new-items', 'claimed-items', 'queue-size')
local reserved = redis.call('HLEN', claims) - tonumber(n[2] or '0')
local free = tonumber(n[1] or '0') - reserved - redis.call('ZCARD', held)
redis.call('HSET', metadata, 'filled-to', ARGV[1])
local missing = math.min(tonumber(n[3] or ARGV[1]), free) - redis.call('LLEN', queue)
local new = 0
for i = 2, #ARGV do
  if new >= missing then break end
  local item = ARGV[i]
  if redis.call('HEXISTS', claims, item) == 0 and not redis.call('ZSCORE', held, item) then
    new = new + enqueue(queue, queued, item, false)
  end
end
return {'OK', new, math.max(0, missing - new)}
