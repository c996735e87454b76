-- erase puts a pseudonym in the place of a user in everything that is kept of a project, or only looks whether the user is there. What the user put off or
-- skipped is removed. Events get the pseudonym and stay where they are: a mark, or a cursor, of an event that is gone would say that Redis went back. It also
-- does so while the project is not ready: a rebuild begins with what is stored.
--
-- KEYS: 1 epoch, 2 rebuild, 3 events, 4 claims, 5 efforts to review, 6 who is online, of the user: 7 queue, 8 what came back, 9 later, 10 skipped, 11 efforts
--   to review; of the pseudonym: 12 queue, 13 what came back; 14 the names of keys that
--   are there, 15... statistics of teams.
-- ARGV: 1 user, 2 the same, escaped, 3 pseudonym, or nothing to look only, 4 the same, escaped.
-- Returns: OK, how often the user was met, and whether the project is being rebuilt (1 or 0).
local rebuild, events, claims, reviews, online = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local queue, returned, pseudonymsQueue, pseudonymsReturned, present = KEYS[7], KEYS[8], KEYS[12], KEYS[13], KEYS[14]
local user, escaped, pseudonym, pseudonymEscaped = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local looks, met = pseudonym == '', 0

-- named returns how many events name the user, and all of them, with the pseudonym instead.
local function named()
  local from, n, all = '-', 0, {}
  repeat
    local entries = redis.call('XRANGE', events, from, '+', 'COUNT', 100)
    for _, entry in ipairs(entries) do
      local fields, names = entry[2], false
      for i = 1, #fields, 2 do
        if (fields[i] == 'user' or fields[i] == 'author') and fields[i + 1] == user then
          names, fields[i + 1] = true, pseudonym
        end
      end
      if names then n = n + 1 end
      if not looks then all[#all + 1] = entry end
      from = '(' .. entry[1]
    end
  until #entries < 100
  return n, all
end
local n, all = named()
met = met + n
if n > 0 and not looks then -- an entry of a stream cannot be changed
  redis.call('DEL', events)
  for _, entry in ipairs(all) do redis.call('XADD', events, entry[1], unpack(entry[2])) end
end

local cursor = '0'
repeat
  local found = redis.call('HSCAN', claims, cursor, 'COUNT', 100)
  cursor = found[1]
  for i = 1, #found[2], 2 do
    local claim = cjson.decode(found[2][i + 1])
    if claim.user == user then
      met = met + 1
      claim.user = pseudonym
      if not looks then redis.call('HSET', claims, found[2][i], cjson.encode(claim)) end
    end
  end
until cursor == '0'

-- add moves a number in the n-th hash to another name.
local function add(n, from, to)
  local by = redis.call('HGET', KEYS[n], from)
  if not by then return end
  met = met + 1
  if looks then return end
  redis.call('HDEL', KEYS[n], from)
  redis.call('HINCRBY', KEYS[n], to, by)
end
local of = 'user:' .. escaped
for _, name in ipairs(redis.call('HKEYS', reviews)) do
  if name == of or string.sub(name, 1, #of + 1) == of .. ':' then
    add(5, name, 'user:' .. pseudonymEscaped .. string.sub(name, #of + 1))
  end
end
for i = 15, #KEYS do
  for _, what in ipairs({':finished', ':incorrect'}) do add(i, user .. what, pseudonym .. what) end
end

if redis.call('ZSCORE', online, user) then met = met + 1 end
for i = 7, 11 do met = met + redis.call('EXISTS', KEYS[i]) end
if not looks then
  redis.call('ZREM', online, user)
  if redis.call('EXISTS', queue) == 1 then redis.call('ZUNIONSTORE', pseudonymsQueue, 2, pseudonymsQueue, queue) end
  for _, item in ipairs(redis.call('LRANGE', returned, 0, -1)) do redis.call('RPUSH', pseudonymsReturned, item) end
  for i = 7, 11 do
    redis.call('DEL', KEYS[i])
    redis.call('SREM', present, KEYS[i])
  end
end
return {'OK', met, redis.call('EXISTS', rebuild)}
