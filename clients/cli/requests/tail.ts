// The command that follows the gateway's request log and shows only the log's own fields.
import path from 'node:path'
import type { Command, CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { openTable, type Table } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { isWanted, type RequestEntry, type RequestFilter, readEntry } from './entry.ts'
import { followLines, streamLines } from './follow.ts'

const defaultLast = '20'

/** `requests tail`. */
export const requestsCommand: Command = {
  name: 'requests tail',
  operands: '',
  summary:
    "Follows the gateway's request log, until Ctrl-C: who asked what, and how it was answered.",
  options: {
    'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
    file: 'log to read instead; - for standard input, for example of "kubectl logs -f"',
    id: 'only the request with this id',
    project: 'only requests of this project (UUID)',
    route: 'only routes with this prefix, for example /payments',
    method: 'only GET or POST',
    status: 'only this status, for example 409 or 4xx',
    reason: 'only this error code',
    last: `number of earlier requests to show first (${defaultLast})`,
    for: 'exit after this many seconds',
  },
  flags: { 'no-follow': 'show existing lines and exit' },
  run: tail,
}

async function tail(context: CommandContext): Promise<void> {
  const { options, env, flags, stopping } = context
  const filter = filterOf(context)
  const last = wholeNumber(options['last'] ?? defaultLast, 'last', 1_000_000)
  const folder = options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave'
  const file = options['file'] ?? path.resolve(folder, 'logs', 'gateway.log')
  const forS = options['for'] === undefined ? undefined : wholeNumber(options['for'], 'for', 86_400)
  const end = forS === undefined ? [] : [AbortSignal.timeout(forS * 1_000)]
  const signal = AbortSignal.any([stopping, ...end])
  const follow = !flags.has('no-follow')
  const table = openTable(context, [
    'TIME'.padEnd(24),
    'STATUS',
    'METHOD',
    'ROUTE'.padEnd(32),
    'DURATION',
    'REQUEST'.padEnd(36),
    'PROJECT'.padEnd(36),
    'REASON',
  ])
  if (file === '-') {
    signal.addEventListener('abort', () => process.stdin.destroy(), { once: true })
    for await (const line of streamLines(process.stdin)) show(context, table, line, filter)
    return
  }
  let earlier: string[] | undefined = []
  for await (const line of followLines(file, { follow, signal })) {
    if (line === undefined) {
      for (const one of earlier ?? []) show(context, table, one, filter)
      earlier = undefined
    } else if (earlier === undefined) show(context, table, line, filter)
    else {
      const entry = readEntry(line)
      if (entry === undefined || !isWanted(entry, filter)) continue
      earlier.push(line)
      if (earlier.length > last) earlier.shift()
    }
  }
}

function filterOf({ options }: CommandContext): RequestFilter {
  const { id, project, route, method, status, reason } = options
  if (status !== undefined && !/^[1-5](\d\d|xx)$/.test(status)) {
    throw new UsageError('--status must be a status such as 409, or a class such as 4xx')
  }
  return { id, project, route, method, status, reason }
}

function show(
  { json, print }: CommandContext,
  table: Table,
  line: string,
  filter: RequestFilter,
): void {
  const entry = readEntry(line)
  if (entry === undefined || !isWanted(entry, filter)) return
  if (json) print(JSON.stringify(entry))
  else table.row(cellsOf(entry).map(printable))
}

function cellsOf(entry: RequestEntry): string[] {
  const { time, status, method, route, duration_ms, reason = '', request_id, project_id } = entry
  const more = entry.left_out === undefined ? '' : `and ${entry.left_out} more`
  return [
    time,
    String(status),
    method,
    route,
    `${duration_ms ?? '-'} ms`,
    request_id,
    project_id ?? '-',
    `${reason}  ${more}`,
  ]
}
