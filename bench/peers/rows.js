// The rows of the tables, read with the document client of the SDK: where they are and in which calls.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchGetCommand, DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb'

const client = DynamoDBDocumentClient.from(new DynamoDBClient({
  endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB,
  requestHandler: { httpAgent: { keepAlive: true, maxSockets: 1000 } },
}))
const table = `${process.env.TAGGIE_TABLE_PREFIX}notes`

// escape keeps the separators of keys out of their parts.
const escape = (part) => part.replace(/[%#:\0]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

const user = (id) => `USER#${escape(id)}`

// parts names the attributes that a read returns, the same as Taggie's (bench/floor/parts.go); without any, it returns whole rows.
const parts = (...names) => ({
  ProjectionExpression: names.map((_, i) => `#${i}`).join(', '),
  ExpressionAttributeNames: Object.fromEntries(names.map((name, i) => [`#${i}`, name])),
})
const profileParts = parts('PK', 'SK', 'created_at', 'email', 'name', 'updated_at', 'user_id', 'version')
const shareParts = parts('PK', 'SK', 'note_id', 'owner_id', 'permission', 'shared_at', 'user_id')
const locatorParts = parts('PK', 'SK', 'deadline', 'permission', 'updated_at', 'user_id')

const batchSize = 100

// batch reads rows by key, 100 in a call, the calls at the same time.
async function batch (keys, parts) {
  const calls = []
  for (let i = 0; i < keys.length; i += batchSize) {
    calls.push(batchOf(keys.slice(i, i + batchSize), parts))
  }
  return (await Promise.all(calls)).flat()
}

async function batchOf (keys, parts) {
  const rows = []
  let asked = { ConsistentRead: true, Keys: keys, ...parts }
  while (asked) {
    const answer = await client.send(new BatchGetCommand({ RequestItems: { [table]: asked } }))
    rows.push(...answer.Responses[table])
    asked = answer.UnprocessedKeys?.[table]
  }
  return rows
}

async function query ({ index = '', pk, low, high }, limit, parts) {
  const answer = await client.send(new QueryCommand({
    TableName: table,
    ...(index ? { IndexName: index } : { ConsistentRead: true }),
    KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :low AND :high',
    ...parts,
    ExpressionAttributeNames: { '#pk': `${index}PK`, '#sk': `${index}SK`, ...parts?.ExpressionAttributeNames },
    ExpressionAttributeValues: { ':pk': pk, ':low': low, ':high': high },
    Limit: limit,
  }))
  return answer.Items
}

const byID = (name) => (rows) => new Map(rows.map((row) => [row[name], row]))

export const profiles = (ids) => batch(ids.map((id) => ({ PK: user(id), SK: 'PROFILE' })), profileParts).then(byID('user_id'))

export async function signedUp (issuer, subject) {
  const [row] = await batch([{ PK: `SUBJECT#${escape(issuer)}#${escape(subject)}`, SK: 'USER' }])
  return row?.user_id
}

export const notesOf = (id, limit) => query({ pk: user(id), low: 'NOTE#', high: 'NOTE#~$' }, limit)

export const sharedWith = (id, limit) => query({ pk: user(id), low: 'SHARED#', high: 'SHARED#\u{10FFFF}' }, limit, shareParts)

// sharesOf reads the shares of an owner's notes between two of them.
export const sharesOf = (owner, first, last) => query({ index: 'GSI1', pk: `OWNER#${escape(owner)}`, low: `NOTE#${escape(first)}#`, high: `NOTE#${escape(last)}$` }, 2000, shareParts)

// notesByID reads notes of any owner, whose locators say where they are.
export async function notesByID (ids) {
  const locators = await batch(ids.map((id) => ({ PK: `NOTE#${escape(id)}`, SK: 'LOCATOR' })), locatorParts)
  const rows = await batch(locators.map((l) => ({ PK: user(l.user_id), SK: `NOTE#${l.deadline || '~'}#${l.PK.slice('NOTE#'.length)}` })))
  return byID('note_id')(rows)
}
