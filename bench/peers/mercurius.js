// Answers the questions of the benchmark with Fastify and Mercurius, the fastest server of GraphQL for Node that we know:
// its JIT compiles queries, its loaders batch. It makes the same calls of DynamoDB as Taggie (rows.js), and checks the same
// token. The benchmark starts it with the variables of Taggie.

import jwt from '@fastify/jwt'
import Fastify from 'fastify'
import mercurius from 'mercurius'

import { notesByID, notesOf, profiles, sharedWith, sharesOf, signedUp } from './rows.js'

const schema = `
  type Query { viewer: User! }
  type User { id: ID! name: String! email: String! notes(first: Int!): Notes! sharedNotes(first: Int!): Notes! }
  type Person { id: ID! name: String! }
  type Notes { nodes: [Note!]! pageInfo: PageInfo! }
  type PageInfo { hasNextPage: Boolean! }
  type Note {
    id: ID! title: String! content: String! deadline: String createdAt: String! updatedAt: String! version: Int!
    tags: [Tag!]! owner: Person! accessList: AccessList!
  }
  type Tag { value: String! }
  type AccessList { edges: [Access!]! }
  type Access { permission: String! node: Person! }
`

const page = (nodes, first) => ({ nodes: nodes.slice(0, first), pageInfo: { hasNextPage: nodes.length > first } })

const resolvers = {
  Query: {
    async viewer (_, __, context) {
      const self = (await profiles([context.id])).get(context.id)
      context.people = new Map([[context.id, self]])
      return self
    },
  },
  User: {
    id: (row) => row.user_id,
    notes: async (row, { first }) => page(await notesOf(row.user_id, first + 1), first),
    async sharedNotes (row, { first }) {
      const ids = (await sharedWith(row.user_id, first + 1)).map((share) => share.note_id)
      const notes = await notesByID(ids)
      return page(ids.map((id) => notes.get(id)), first)
    },
  },
  Person: { id: (row) => row.user_id },
  Note: {
    id: (row) => row.note_id,
    createdAt: (row) => row.created_at,
    updatedAt: (row) => row.updated_at,
    tags: (row) => [...(row.tags ?? [])].sort().map((value) => ({ value })),
  },
}

// people reads those profiles that this request has not read yet.
async function people (ids, context) {
  const missing = [...new Set(ids)].filter((id) => !context.people.has(id))
  if (missing.length > 0) {
    for (const [id, row] of await profiles(missing)) context.people.set(id, row)
  }
  return ids.map((id) => context.people.get(id))
}

async function accessLists (queries) {
  const lists = new Map(queries.map(({ obj }) => [obj.note_id, { edges: [] }]))
  const ids = [...lists.keys()].sort()
  for (const share of await sharesOf(queries[0].obj.user_id, ids[0], ids.at(-1))) lists.get(share.note_id)?.edges.push(share)
  return queries.map(({ obj }) => lists.get(obj.note_id))
}

// Without its cache, for which it would make a text of each object.
const loader = (load) => ({ loader: load, opts: { cache: false } })

const loaders = {
  Note: {
    owner: loader((queries, context) => people(queries.map(({ obj }) => obj.user_id), context)),
    accessList: loader(accessLists),
  },
  Access: { node: loader((queries, context) => people(queries.map(({ obj }) => obj.user_id), context)) },
}

const app = Fastify()
const secret = Buffer.from(process.env.TAGGIE_JWT_KEY.slice('HS256:'.length), 'base64')
app.register(jwt, { secret, verify: { algorithms: ['HS256'] } })

const known = new Map() // issuer and subject to user id, which never changes

app.register(mercurius, {
  schema,
  resolvers,
  loaders,
  jit: 1,
  async context (request) {
    const { iss, sub } = await request.jwtVerify()
    const who = JSON.stringify([iss, sub])
    if (!known.has(who)) {
      const id = await signedUp(iss, sub)
      if (!id) throw new Error('sign up first')
      known.set(who, id)
    }
    return { id: known.get(who) }
  },
})

app.get('/readyz', async () => 'ready')

const [host, port] = process.env.TAGGIE_ADDR.split(':')
await app.listen({ host, port: Number(port) })
