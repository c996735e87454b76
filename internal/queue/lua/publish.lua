-- publish sends a message, unless it waits already: a message that is late must not make the others later each time it is sent again.
--
-- KEYS: 1 messages, 2 entries of messages.
-- ARGV: the fields of the message and their values.
-- Returns: OK and whether it was sent (1 or 0).
local messages, sent = KEYS[1], KEYS[2]
return {'OK', post(messages, sent, ARGV)}
