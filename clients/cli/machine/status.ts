// The command that shows the state of a running system and whether it is ready.
import path from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Command, CommandContext } from '../command.ts'
import { kindOfState } from '../output/paint.ts'
import { openTable } from '../output/table.ts'
import { UsageError } from '../usage-error.ts'
import { type Figures, inspectAddress, inspectFolder, type PartState } from './inspect.ts'

/** `status`. */
export const statusCommand: Command = {
  name: 'status',
  operands: '',
  summary:
    'Shows all processes, their readiness and pending work; exits with 1 if one is not ready.',
  options: {
    'data-dir': 'data folder of "npm start" (PAYWEAVE_DATA_DIR, .payweave)',
    'base-url': 'address of another deployment: shows only the readiness that its gateway reports',
  },
  run: status,
}

async function status(context: CommandContext): Promise<number> {
  const { options, env, json, print, paint } = context
  const baseUrl = options['base-url']
  const dataDir = path.resolve(options['data-dir'] ?? env['PAYWEAVE_DATA_DIR'] ?? '.payweave')
  if (baseUrl !== undefined && !URL.canParse(baseUrl)) {
    throw new UsageError('--base-url must be an http or https URL')
  }
  const system =
    baseUrl === undefined ? await inspectFolder(dataDir) : await inspectAddress(baseUrl)
  const { ready, parts, figures } = system
  const place = baseUrl ?? dataDir
  // Another deployment does not show its version to the public.
  const version = baseUrl === undefined ? packageJson.version : undefined
  if (json) {
    const named = Object.entries(figures).map(([name, value]) => [snake(name), value ?? null])
    const rows = parts.map(jsonPart)
    const shown = {
      ready,
      place,
      version: version ?? null,
      parts: rows,
      figures: Object.fromEntries(named),
    }
    print(JSON.stringify(shown))
  } else {
    const word = ready ? 'ready' : 'not ready'
    const state = paint(kindOfState(word), word)
    print([state, place, ...(version === undefined ? [] : [`payweave ${version}`])].join('  '))
    if (parts.length === 0) print('nothing is running: start it with "npm start"')
    openTable(context, headings).rows(parts.map(cellsOf))
    for (const line of figureLines(figures)) print(line)
  }
  return ready ? 0 : 1
}

const mib = (bytes: number | undefined) =>
  bytes === undefined ? '-' : `${Math.round(bytes / 1_048_576)} MiB`

const headings = ['PART', 'STATE', 'PID', 'PORTS', 'MEMORY', 'SINCE', 'VERSION']

function cellsOf(part: PartState): string[] {
  return [
    part.name,
    part.up ? (part.ready ? 'ready' : 'not ready') : 'down',
    String(part.pid ?? '-'),
    part.ports.join(' ') || '-',
    mib(part.memoryBytes),
    part.startedAt?.toISOString() ?? '-',
    part.version ?? '-',
  ]
}

function figureLines(figures: Figures): string[] {
  const { ledgerCheckedAt, outboxOldestS } = figures
  const rows: [string, number | undefined, string?][] = [
    ['events not yet confirmed', figures.outboxUnconfirmed, `oldest ${outboxOldestS ?? 0} s`],
    ['dead letters of producers', figures.outboxDeadLetters],
    ['dead letters of consumers', figures.inboxDeadLetters],
    ['deliveries exhausted', figures.deliveriesExhausted],
    ['deliveries blocked', figures.deliveriesBlocked],
    ['bills to review', figures.billsForReview],
    ['ledger findings', figures.ledgerFindings, `checked ${ledgerCheckedAt?.toISOString() ?? '-'}`],
    ['settlements refused', figures.settlementsRefused],
    ['refunds failed', figures.refundsFailed],
  ]
  return rows.flatMap(([name, value, more]) =>
    value === undefined
      ? []
      : [`${name.padEnd(24)}  ${value}${more === undefined ? '' : `  ${more}`}`],
  )
}

function jsonPart({ memoryBytes, startedAt, ...part }: PartState) {
  return {
    ...part,
    memory_bytes: memoryBytes ?? null,
    start_time: startedAt?.toISOString() ?? null,
  }
}

function snake(name: string): string {
  return name.replace(/At$/, 'Time').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
