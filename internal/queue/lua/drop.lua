-- drop removes the events of a stream when one of them names a user: who follows them begins anew.
--
-- KEYS: 1 events.
-- ARGV: 1 user.
-- Returns: OK and whether they were removed (1 or 0).
local from, n = '-', 100
while n == 100 do
  local entries = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 100)
  n = #entries
  for _, entry in ipairs(entries) do
    from = '(' .. entry[1]
    local fields = entry[2]
    for i = 1, #fields, 2 do
      local is = fields[i]
      if (is == 'owner' or is == 'by' or is == 'with') and fields[i + 1] == ARGV[1] then
        redis.call('DEL', KEYS[1])
        return {'OK', 1}
      end
    end
  end
end
return {'OK', 0}
