-- retry takes away a dead letter, and sends its message again if told to.
--
-- KEYS: 1 messages, 2 entries of messages, 3 dead letters.
-- ARGV: 1 entry, 2 whether to send it again (1 or 0).
-- Returns: OK; NONE.
local messages, sent, dead = KEYS[1], KEYS[2], KEYS[3]
local letter = redis.call('XRANGE', dead, ARGV[1], ARGV[1])[1]
if not letter then return {'NONE'} end
if ARGV[2] == '1' then
  local fields = {}
  for i = 1, #letter[2], 2 do
    if letter[2][i] ~= 'reason' and letter[2][i] ~= 'died' and letter[2][i] ~= 'tries' then
      fields[#fields + 1] = letter[2][i]
      fields[#fields + 1] = letter[2][i + 1]
    end
  end
  post(messages, sent, fields)
end
redis.call('XDEL', dead, ARGV[1])
return {'OK'}
