-- load adds a part to what a rebuild prepares, all under staged keys.
--
-- KEYS: 1 rebuild, then staged: 2 numbers of loaded parts, 3 users, 4 teams, 5 metadata, 6 wip, 7 claims, 8 held, 9 applied,
--   10 to 12 counts of keywords, categories, subcategories, 13 keywords, 14 imports, 15 efforts to review, 16... those of users and teams, which the part refers to by
--   their places.
-- ARGV: 1 token, 2 ms until somebody else may take over, 3 ms to keep what is staged, 4 the part as JSON (see rebuild.go).
-- Returns: OK; REBUILDING when somebody else took over.
local rebuild, loaded, users, teams, metadata, wip, claims, held, applied =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local counts = {KEYS[10], KEYS[11], KEYS[12]}
local keywords, imports, reviews = KEYS[13], KEYS[14], KEYS[15]
local part = cjson.decode(ARGV[4])
if redis.call('GET', rebuild) ~= ARGV[1] then return {'REBUILDING'} end
redis.call('PEXPIRE', rebuild, ARGV[2])
if redis.call('SADD', loaded, part.number) == 0 then return {'OK'} end
for name, n in pairs(part.counts) do redis.call('HINCRBY', metadata, name, n) end
for id, n in pairs(part.imported) do redis.call('HINCRBY', imports, id, n) end
for _, c in ipairs(part.claims) do
  redis.call('HSET', claims, c.item, c.claim)
  redis.call('ZADD', wip, c['until'], c.item)
  redis.call('ZADD', KEYS[c.place], c.since, c.item)
end
for _, r in ipairs(part.returned) do
  redis.call('RPUSH', KEYS[r.place], r.item)
  redis.call('ZADD', held, r['until'], r.item)
end
for _, s in ipairs(part.statistics) do
  for _, f in ipairs(s.fields) do redis.call('HINCRBY', KEYS[s.place], f.name, f.n) end
  if s.type ~= '' then redis.call('HSET', KEYS[s.place], 'team:type', s.type) end
end
for _, r in ipairs(part.reviews) do toReview(reviews, r.author, r.category, r.n) end
for i, used in ipairs(part.used) do
  for _, u in ipairs(used) do
    redis.call('ZINCRBY', counts[i], u.n, u.word)
  end
end
for _, member in ipairs(part.completions) do redis.call('ZADD', keywords, 0, member) end
local now = whole(clock())
for _, id in ipairs(part.applied) do redis.call('ZADD', applied, now, id) end
for _, user in ipairs(part.users) do redis.call('SADD', users, user) end
for _, team in ipairs(part.teams) do redis.call('SADD', teams, team) end
for i = 2, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
return {'OK'}
