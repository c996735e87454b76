-- commit puts what a rebuild prepared in the place of what was there, and begins a new epoch. Transitions that were applied before
-- the rebuild began stay known: what it read contains them. The queue is empty after it, until it is filled.
--
-- KEYS: 1 rebuild, 2 epoch, 3 events, 4 queue, 5 queued, 6 categories, 7 subcategories, 8 to 10 top of keywords, categories,
--   subcategories, 11 applied and 12 what is staged of it, 13 loaded parts, users and teams (13, 14, 15), 16 the names of
--   keys that are there, then key and staged key of: 17 metadata, 19 wip, 21 claims, 23 held, 25, 27, 29 counts, 31 keywords, 33 imports,
--   35 efforts to review, 37... those of users and teams.
-- ARGV: 1 token, which becomes the epoch, 2 name, 3 size (0 for none of its own), 4 whether paused (1 or 0), 5 events to keep, 6 words
--   at the top, 7 how many categories follow, 8... categories, then subcategories.
-- Returns: OK; REBUILDING when somebody else took over.
local rebuild, epoch, events, queue, queued, categories, subcategories, applied, seen =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[11], KEYS[12]
local present, metadata, claims = KEYS[16], KEYS[17], KEYS[21]
if redis.call('GET', epoch) == ARGV[1] then return {'OK'} end -- again, since the first answer was lost
if redis.call('GET', rebuild) ~= ARGV[1] then return {'REBUILDING'} end

for i = 17, #KEYS, 2 do
  redis.call('DEL', KEYS[i])
  if redis.call('EXISTS', KEYS[i + 1]) == 1 then
    redis.call('RENAME', KEYS[i + 1], KEYS[i])
    redis.call('PERSIST', KEYS[i])
  end
end
if redis.call('EXISTS', seen) == 1 then
  redis.call('ZUNIONSTORE', applied, 2, applied, seen, 'AGGREGATE', 'MAX')
  redis.call('PERSIST', applied)
end

local n = redis.call('HMGET', metadata, 'new-items', 'finished-items', 'skipped-items')
local new, finished, skipped = tonumber(n[1] or '0'), tonumber(n[2] or '0'), tonumber(n[3] or '0')
local claimed = redis.call('HLEN', claims)
redis.call('HSET', metadata, 'project-name', ARGV[2], 'paused', ARGV[4],
  'total-items', whole(new + claimed + finished + skipped), 'remaining-items', whole(new + claimed),
  'new-items', whole(new), 'claimed-items', whole(claimed), 'finished-items', whole(finished), 'skipped-items', whole(skipped))
if ARGV[3] ~= '0' then redis.call('HSET', metadata, 'queue-size', ARGV[3]) end
for i = 0, 2 do rank(KEYS[25 + 2 * i], KEYS[8 + i], ARGV[6]) end
redis.call('DEL', queue, queued, events, categories, subcategories, seen, KEYS[13], KEYS[14], KEYS[15], rebuild)
for i = 8, #ARGV do
  if i - 7 <= tonumber(ARGV[7]) then
    redis.call('RPUSH', categories, ARGV[i])
  else
    redis.call('RPUSH', subcategories, ARGV[i])
  end
end
redis.call('SET', epoch, ARGV[1])
tell(events, metadata, queue, ARGV[5], {cause = 'RESTARTED', at = whole(clock())})

redis.call('DEL', present)
for i = 3, 11 do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('SADD', present, KEYS[i]) end
end
for i = 17, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('SADD', present, KEYS[i]) end
end
return {'OK'}
