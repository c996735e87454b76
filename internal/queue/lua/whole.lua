-- whole looks whether the keys of a project fit together: each one that was there after the last change is there still, and numbers that
-- have to be the same are. If they do not, the project is not ready any more, and is rebuilt.
--
-- KEYS: 1 epoch, 2 present, 3 metadata, 4 queue, 5 queued, 6 wip, 7 claims, 8 events, 9... names that present has.
-- ARGV: none.
-- Returns: OK and whether they fit (1 or 0); NOTREADY.
local epoch, present, metadata, queue, queued, wip, claims, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local n = redis.call('HMGET', metadata, 'total-items', 'remaining-items', 'new-items', 'claimed-items', 'finished-items', 'skipped-items')
for i = 1, 6 do n[i] = tonumber(n[i] or '-1') end
local fits = n[1] == n[3] + n[4] + n[5] + n[6] and n[2] == n[3] + n[4]
  and redis.call('LLEN', queue) == redis.call('SCARD', queued)
  and redis.call('ZCARD', wip) == redis.call('HLEN', claims) and n[4] <= redis.call('HLEN', claims)
  and redis.call('XLEN', events) > 0 and redis.call('EXISTS', present) == 1
for i = 9, #KEYS do
  fits = fits and (redis.call('EXISTS', KEYS[i]) == 1 or redis.call('SISMEMBER', present, KEYS[i]) == 0)
end
if fits then return {'OK', 1} end
redis.call('DEL', epoch)
return {'OK', 0}
