-- apply follows a transition of an item.
--
-- The item is counted under the status that Redis counted it under so far, whatever the truth was in between: CLAIMED if its
-- claim was acknowledged, what the transition says if it takes back a finish, a review or a skip, NEW otherwise. So the counts add up to the total after
-- every transition, lost and late acknowledgements included, and there are as many acknowledged claims as CLAIMED items.
--
-- KEYS: 1 epoch, 2 applied, 3 metadata, 4 queue, 5 queued, 6 wip, 7 claims, 8 held, 9 events, 10 the user's queue, 11 the list of
--   what came back of whom gets the item back, 12 the user's later, 13 the user's skipped, 14 statistics of the team that is counted
--   for, 15 to 17 counts of keywords, categories, subcategories, 18 to 20 their top, 21 keywords, 22 efforts to review, 23... statistics of
--   the teams of efforts that are not counted any more or again, which these refer to by their places. What is removed has the user of 10 to 13 in author.
-- ARGV: 1 the transition as JSON (see apply.go), 2 events to keep, 3 ms to remember transitions, 4 ms to hold what came back, 5 words
--   at the top, 6 ids a queue may hold at most.
-- Returns: OK and whether anything was changed (1 or 0); NOTREADY; EARLY when the transition before it is not known to have been applied.
local epoch, applied, metadata, queue, queued, wip, claims, held, events =
  KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local mine, returned, later, skipped, team = KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local counts = {{KEYS[15], KEYS[18]}, {KEYS[16], KEYS[19]}, {KEYS[17], KEYS[20]}}
local keywords, reviews = KEYS[21], KEYS[22]
local t = cjson.decode(ARGV[1])
local remembered = tonumber(ARGV[3])
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local now = clock()
if t.at == '' then t.at = whole(now) end
if t['until'] == '' then t['until'] = t.at end
local takesBack = t.cause == 'REVIEWED' or t.cause == 'UNDONE' or t.cause == 'RETURNED' or t.cause == 'RESTORED'
local removes, relabels = t.cause == 'REMOVED', t.cause == 'RELABELLED'
local claim = claimOf(claims, t.item)
if redis.call('ZSCORE', applied, t.id) then return {'OK', 0} end
if t.follows ~= '' and not redis.call('ZSCORE', applied, t.follows) then return {'EARLY'} end
once(applied, t.id, now, remembered)

-- A review of an effort that is not the last one of its item any more, or only changes what was said: the item stays where it is.
-- Nor does one move whose further efforts are not counted any more, or again, or whose labels are others.
local stays = relabels or (t.cause == 'REVIEWED' or removes or t.cause == 'RESTORED') and t.from == t.status

-- A claim that has ended is remembered by its token, as if it had been applied: its transition may yet come. It may also come when
-- somebody has claimed the item since. Either way nobody has the item by this claim any more.
local late = false
if stays then
  late = false
elseif t.status ~= 'CLAIMED' then
  if t.token ~= '' then once(applied, t.token, now, remembered) end
else
  local newer = claim and claim.counted and claim.token ~= t.token
  if newer and (claim.version or 0) > 0 and t.version > 0 then
    newer = claim.version > t.version
  elseif newer then -- its version is not known here, after a rebuild: by the clocks of Redis and of a server
    newer = tonumber(claim.since) > tonumber(t.at)
  end
  late = t.token ~= t.id and redis.call('ZSCORE', applied, t.token) or newer
end
if late and not takesBack then return {'OK', 0} end

-- use counts a word of set i by more. A keyword can be completed as long as somebody uses it.
local function use(i, word, completion, by)
  local n = tonumber(redis.call('ZINCRBY', counts[i][1], by, word))
  if i > 1 then return end
  if n > 0 then
    redis.call('ZADD', keywords, 0, completion)
  else
    redis.call('ZREM', keywords, completion)
  end
end

-- From where to where.
local from, to = (takesBack or removes) and t.from or 'NEW', late and 'NEW' or t.status
if stays then
  to = from
elseif to == 'CLAIMED' then
  if claim and claim.counted and claim.token == t.token then
    from = 'CLAIMED'
  elseif claim and claim.counted then
    move(metadata, 'CLAIMED', 'NEW') -- the end of that claim is still to be applied
  end
elseif not takesBack and claim and (t.token == '' or claim.token == t.token) then
  if claim.counted then from = 'CLAIMED' end
  redis.call('HDEL', claims, t.item)
  redis.call('ZREM', wip, t.item)
  redis.call('ZREM', mine, t.item)
  claim = nil
end
move(metadata, from, to)

-- Where the item is now.
if stays then
  to = nil
elseif to == 'CLAIMED' then
  redis.call('HSET', claims, t.item, cjson.encode({
    user = t.user, token = t.token, version = t.version, since = t.at, ['until'] = t['until'], counted = true, from = claim and claim.from or 'queue'}))
  redis.call('ZADD', wip, t['until'], t.item)
  redis.call('ZADD', mine, t.at, t.item)
  redis.call('PERSIST', mine)
  redis.call('ZREM', held, t.item)
  unqueue(queue, queued, t.item)
elseif to == 'NEW' and not claim and not late then
  if t.cause == 'REVIEWED' or t.cause == 'UNDONE' or t.cause == 'RESTORED' and t.author ~= '' then -- to its author
    unqueue(queue, queued, t.item)
    redis.call('RPUSH', returned, t.item)
    redis.call('ZADD', held, whole(now + tonumber(ARGV[4])), t.item)
  else
    giveBack(metadata, queue, queued, t.item, t.cause ~= 'DEFERRED', ARGV[6])
  end
elseif to ~= 'NEW' then
  unqueue(queue, queued, t.item)
  redis.call('ZREM', later, t.item)
  if takesBack or removes then -- the review that brought it back to its author is replaced
    redis.call('LREM', returned, 0, t.item)
    redis.call('ZREM', held, t.item)
  end
end
if t.cause == 'DEFERRED' then
  if t.later == '' then
    redis.call('SADD', skipped, t.item)
  else
    redis.call('ZADD', later, t.later, t.item)
  end
end

-- What was done, and what was found out.
if t.cause == 'FINISHED' or t.cause == 'UNDONE' then
  local by = t.cause == 'FINISHED' and 1 or -1
  redis.call('HINCRBY', team, 'team:finished', by)
  redis.call('HINCRBY', team, t.user .. ':finished', by)
  for i, used in ipairs({t.keywords, t.categories, t.subcategories}) do
    for n, word in ipairs(used) do use(i, word, t.completions[n], by) end
    if #used > 0 then
      redis.call('ZREMRANGEBYSCORE', counts[i][1], 0, 0)
      rank(counts[i][1], counts[i][2], ARGV[5])
    end
  end
elseif t.cause == 'REVIEWED' and (t.incorrect or t.cleared) then
  local by = t.incorrect and 1 or -1
  redis.call('HINCRBY', team, 'team:incorrect', by)
  redis.call('HINCRBY', team, t.author .. ':incorrect', by)
end
if relabels then
  for _, e in ipairs(t.efforts) do
    for i, used in ipairs({{{}, {}}, {e.categories, e.into.categories}, {e.subcategories, e.into.subcategories}}) do
      for n, by in ipairs({-1, 1}) do
        for _, word in ipairs(used[n]) do redis.call('ZINCRBY', counts[i][1], by, word) end
      end
    end
    if e.toReview then
      toReview(reviews, e.author, e.category, -1)
      toReview(reviews, e.author, e.into.category, 1)
    end
  end
  for i = 2, 3 do
    redis.call('ZREMRANGEBYSCORE', counts[i][1], 0, 0)
    rank(counts[i][1], counts[i][2], ARGV[5])
  end
elseif #t.efforts > 0 then
  local by = removes and -1 or 1
  local words = {}
  for _, e in ipairs(t.efforts) do
    redis.call('HINCRBY', KEYS[e.place], 'team:finished', by)
    redis.call('HINCRBY', KEYS[e.place], e.user .. ':finished', by)
    if e.toReview then toReview(reviews, e.author, e.category, by) end
    if e.incorrect then
      redis.call('HINCRBY', KEYS[e.place], 'team:incorrect', by)
      redis.call('HINCRBY', KEYS[e.place], e.user .. ':incorrect', by)
    end
    for i, used in ipairs({e.keywords, e.categories, e.subcategories}) do
      for n, word in ipairs(used) do
        use(i, word, e.completions[n], by)
        words[i] = true
      end
    end
  end
  for i = 1, 3 do
    if words[i] then
      redis.call('ZREMRANGEBYSCORE', counts[i][1], 0, 0)
      rank(counts[i][1], counts[i][2], ARGV[5])
    end
  end
end

toReview(reviews, t.of, t.category, t.toReview)

tell(events, metadata, queue, ARGV[2], t)
return {'OK', 1}
