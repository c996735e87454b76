-- snapshot reads what a project's queue is like, all at one position in its events.
--
-- KEYS: 1 epoch, 2 metadata, 3 queue, 4 events, 5 claims, 6 user queue, 7 efforts to review, 8... statistics of teams.
-- ARGV: 1 user.
-- Returns: OK, epoch, last entry, ids that wait, metadata, item and claim (JSON) of each of the user's, efforts to review, then
--   statistics of each team (the last ones as lists of name and value); NOTREADY.
local epoch, metadata, queue, events, claims, mine = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local named = redis.call('GET', epoch)
if not named then return {'NOTREADY'} end
local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
local have = {}
for _, item in ipairs(redis.call('ZRANGE', mine, 0, -1)) do
  local text = redis.call('HGET', claims, item)
  if text then
    local claim = cjson.decode(text)
    if claim.user == ARGV[1] and claim.counted then
      have[#have + 1] = item
      have[#have + 1] = text
    end
  end
end
local reply = {'OK', named, last and last[1] or '0-0', redis.call('LLEN', queue), redis.call('HGETALL', metadata), have, redis.call('HGET', KEYS[7], 'all') or '0'}
for i = 8, #KEYS do reply[#reply + 1] = redis.call('HGETALL', KEYS[i]) end
return reply
