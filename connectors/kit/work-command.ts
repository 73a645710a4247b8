// Lists and retries dead work: `node connectors/momo/main.ts work`, run where the connector runs. Shows no payload.
import { parseArgs } from 'node:util'
import type { Database } from '#platform/db/db.ts'
import { listDeadWork, retryDeadWork } from './store/work-store.ts'

const maxListed = 1_000

/** How the command is used. */
const workUsage = `work list [--kind report.payments]            lists dead work, the oldest first
work retry 17 18 | --all [--kind report.payments]  makes dead work due; it is done within seconds
`

/**
 * Runs the command, the words after `work`; returns the exit code: 0, 1 when something that was named is not dead, or 2 for a
 * mistake in the command. Rejects as a Queryable does.
 */
export async function workCommand(
  db: Database,
  words: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  const request = readRequest(words)
  if (request === undefined) {
    print(workUsage)
    return 2
  }
  const { verb, kind, isAll, positions } = request
  if (verb === 'list') {
    const works = await listDeadWork(db, kind, maxListed)
    for (const { position, kind, key, reason, attempts, writtenAt, deadAt } of works) {
      const times = `written ${writtenAt.toISOString()}, dead ${deadAt.toISOString()}`
      print(`${position}  ${kind}  ${key}  ${reason ?? '-'}  ${attempts} attempts, ${times}\n`)
    }
    print(works.length === maxListed ? `the first ${maxListed}\n` : `${works.length} dead\n`)
    return 0
  }
  const wanted = isAll
    ? (await listDeadWork(db, kind, maxListed)).map(({ position }) => position)
    : positions
  const retried = await retryDeadWork(db, wanted)
  print(`${retried.length} due\n`)
  const others = wanted.filter((position) => !retried.includes(position))
  for (const position of others) print(`${position} is not dead\n`)
  return others.length === 0 ? 0 : 1
}

function readRequest(words: readonly string[]) {
  const read = parse(words)
  if (read === undefined) return undefined
  const [verb, ...numbers] = read.positionals
  const { kind = null, all: isAll = false } = read.values
  const isList = verb === 'list' && numbers.length === 0 && !isAll
  const isRetry = verb === 'retry' && isAll !== numbers.length > 0 && (isAll || kind === null)
  if (!isList && !isRetry) return undefined
  if (!numbers.every((number) => /^[1-9]\d{0,17}$/.test(number))) return undefined
  return { verb, kind, isAll, positions: numbers.map(BigInt) }
}

function parse(words: readonly string[]) {
  const options = { kind: { type: 'string' }, all: { type: 'boolean' } } as const
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true })
  } catch {
    return undefined
  }
}
