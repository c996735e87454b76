-- What all scripts share; it stands before each of them.
--
-- Every script returns a list whose first element says how it went: OK, or what script.go makes a fault of. None raises an error:
-- engines word those differently. Keys come in by KEYS and by nothing else; functions here get them as arguments.

-- whole writes a number as Redis keeps it: Lua writes large ones as 1e+12.
local function whole(n) return string.format('%.0f', n) end

-- clock returns the time in milliseconds. It is Redis's own, since the clocks of servers differ.
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- claimOf returns who has an item, or nil: a table of user, token, since, until, counted (it was acknowledged, and the item
-- counts as CLAIMED) and from (where it was taken from: queue, returned or later).
local function claimOf(claims, item)
  local text = redis.call('HGET', claims, item)
  if text then return cjson.decode(text) end
  return nil
end

local field = {NEW = 'new-items', CLAIMED = 'claimed-items', FINISHED = 'finished-items', SKIPPED = 'skipped-items'}
local remains = {NEW = 1, CLAIMED = 1, FINISHED = 0, SKIPPED = 0}

-- move counts an item under another status. One that is REMOVED is not counted at all.
local function move(metadata, from, to)
  if from == to then return end
  if field[from] then redis.call('HINCRBY', metadata, field[from], -1) end
  if field[to] then redis.call('HINCRBY', metadata, field[to], 1) end
  redis.call('HINCRBY', metadata, 'remaining-items', (remains[to] or 0) - (remains[from] or 0))
  local more = (field[to] and 1 or 0) - (field[from] and 1 or 0)
  if more ~= 0 then redis.call('HINCRBY', metadata, 'total-items', more) end
end

-- tell appends an event, with the counts as they are now. What it is called is kept in told: see guard.lua.
local told
local function tell(events, metadata, queue, max, e)
  local n = redis.call('HMGET', metadata, 'total-items', 'new-items', 'claimed-items', 'finished-items', 'skipped-items')
  told = redis.call('XADD', events, 'MAXLEN', '~', max, '*',
    'cause', e.cause, 'item', e.item or '', 'user', e.user or '', 'author', e.author or '', 'team', e.team or '',
    'status', e.status or '', 'at', e.at,
    'total', n[1] or '0', 'new', n[2] or '0', 'claimed', n[3] or '0', 'finished', n[4] or '0', 'skipped', n[5] or '0',
    'queued', whole(redis.call('LLEN', queue)))
end

-- toReview counts by more efforts to review, of an author and a category: in all, of each of these, and of both.
local function toReview(reviews, author, category, by)
  if by == 0 then return end
  for _, of in ipairs({'all', 'user:' .. author, 'category:' .. category, 'user:' .. author .. ':category:' .. category}) do
    if redis.call('HINCRBY', reviews, of, by) == 0 then redis.call('HDEL', reviews, of) end
  end
end

-- unqueue takes an item out of the queue, if it is there.
local function unqueue(queue, queued, item)
  if redis.call('SREM', queued, item) == 1 then redis.call('LREM', queue, 1, item) end
end

-- enqueue puts an item into the queue unless it is there; first says at which end.
local function enqueue(queue, queued, item, first)
  if redis.call('SADD', queued, item) == 0 then return 0 end
  if first then redis.call('LPUSH', queue, item) else redis.call('RPUSH', queue, item) end
  return 1
end

-- giveBack puts an item into the queue again, which holds no more than it may all the same: the last one waits in the truth instead, where
-- it is found again. The size of a queue that has none of its own is that to which it was filled.
local function giveBack(metadata, queue, queued, item, first, most)
  enqueue(queue, queued, item, first)
  local sizes = redis.call('HMGET', metadata, 'queue-size', 'filled-to')
  if redis.call('LLEN', queue) > tonumber(sizes[1] or sizes[2] or most) then
    redis.call('SREM', queued, redis.call('RPOP', queue))
  end
end

-- nameOf returns what tells a message from all others, of its fields and their values.
local function nameOf(fields)
  local of = {}
  for i = 1, #fields, 2 do of[fields[i]] = fields[i + 1] end
  return of.project .. '/' .. of.item .. '/' .. of.id
end

-- post appends a message to a stream unless it is there.
local function post(messages, sent, fields)
  local name = nameOf(fields)
  local at = redis.call('HGET', sent, name)
  if at and redis.call('XRANGE', messages, at, at)[1] then return 0 end
  redis.call('HSET', sent, name, redis.call('XADD', messages, '*', unpack(fields)))
  return 1
end

-- rank writes down the words used most.
local function rank(counts, top, n)
  redis.call('DEL', top)
  local used = redis.call('ZREVRANGEBYSCORE', counts, '+inf', '(0', 'WITHSCORES', 'LIMIT', 0, n)
  for i = 1, #used, 2 do redis.call('ZADD', top, used[i + 1], used[i]) end
end

-- once reports whether an id comes for the first time, and remembers it.
local function once(applied, id, now, remembered)
  if redis.call('ZSCORE', applied, id) then return false end
  redis.call('ZADD', applied, whole(now), id)
  redis.call('ZREMRANGEBYSCORE', applied, '-inf', whole(now - remembered))
  return true
end
