// Makes the parser of the command line out of the table of commands: groups, options, help and suggestions.
import { styleText } from 'node:util'
import { Command as Parser } from 'commander'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Command } from '../command.ts'
import { hasColors } from '../output/paint.ts'

/** The options and operands of a command as they were typed. */
export type Typed = {
  options: Record<string, string>
  flags: Set<string>
  operands: string[]
}

/** What the parser writes to, and what it calls. */
export type ParserOptions = {
  stdout: NodeJS.WritableStream
  stderr: NodeJS.WritableStream
  env: NodeJS.ProcessEnv
  /** Runs a command; parsing rejects as it does. */
  run(command: Command, typed: Typed): Promise<void>
}

/** The groups of commands, and the heading that each stands under in the help. */
const groups: Record<string, { heading: string; says: string; alias?: string }> = {
  payments: {
    heading: 'Merchants:',
    says: 'payment requests of a merchant: list, show, events, cancel, refund',
    alias: 'payment',
  },
  account: {
    heading: 'Merchants:',
    says: 'balance and history of an account',
    alias: 'accounts',
  },
  deliveries: {
    heading: 'Merchants:',
    says: 'pushes: list, show, replay, cancel, lanes',
    alias: 'delivery',
  },
  replay: { heading: 'Merchants:', says: 'replays of many pushes', alias: 'replays' },
  events: {
    heading: 'Merchants:',
    says: 'attempts of pushes as they end; for operators, dead letters of events',
    alias: 'event',
  },
  sandbox: { heading: 'Merchants:', says: 'the sandbox of this machine' },
  seal: { heading: 'Merchants:', says: 'sealed values' },
  project: { heading: 'Access:', says: 'projects', alias: 'projects' },
  merchant: { heading: 'Access:', says: 'merchants of a project', alias: 'merchants' },
  key: { heading: 'Access:', says: 'subscription keys and API keys of clients' },
  institution: {
    heading: 'Access:',
    says: 'institutions and their secrets',
    alias: 'institutions',
  },
  onboarding: { heading: 'Access:', says: 'new customers that wait for a decision' },
  customer: { heading: 'Access:', says: 'customers of a project, masked', alias: 'customers' },
  grant: { heading: 'Access:', says: 'grants of projects on institutions', alias: 'grants' },
  audit: { heading: 'Access:', says: 'who changed access' },
  ledger: { heading: 'Money:', says: 'checks and backfill of the ledger' },
  biller: { heading: 'Money:', says: 'billers of the catalogue', alias: 'billers' },
  product: { heading: 'Money:', says: 'products of the catalogue', alias: 'products' },
  bill: { heading: 'Money:', says: 'bill payments: status, receipts and reviews', alias: 'bills' },
  balance: {
    heading: 'Money:',
    says: 'balances and the statement of a project',
    alias: 'balances',
  },
  transfer: { heading: 'Money:', says: 'institution transactions', alias: 'transfers' },
  settlement: {
    heading: 'Money:',
    says: "movements of the money of a project's payments",
    alias: 'settlements',
  },
  quote: { heading: 'Money:', says: 'quotes of a project', alias: 'quotes' },
  refund: {
    heading: 'Money:',
    says: 'refunds that wait for the back end or a person',
    alias: 'refunds',
  },
  stuck: { heading: 'Operations:', says: 'what takes too long, and a retry' },
  claim: { heading: 'Operations:', says: 'who works on what waits for a person', alias: 'claims' },
  'api-log': { heading: 'Operations:', says: 'requests of a project, with masked bodies' },
  approval: { heading: 'Money:', says: 'requests for a second person', alias: 'approvals' },
  routes: { heading: 'Operations:', says: 'which connector takes what', alias: 'route' },
  bootstrap: { heading: 'Operations:', says: '' },
  keys: { heading: 'Operations:', says: 'keys of stored values' },
  migrate: { heading: 'Operations:', says: 'migrations of the database' },
  requests: { heading: 'Operations:', says: "the gateway's requests", alias: 'request' },
  backup: { heading: 'Operations:', says: 'copies of the running database, with checksums' },
  restore: { heading: 'Operations:', says: 'restores a backup, and checks the restored ledger' },
}

const headings: Record<string, string> = {
  listen: 'Merchants:',
  trigger: 'Merchants:',
  conformance: 'Merchants:',
  doctor: 'Operations:',
  status: 'Operations:',
}

const headingOrder = ['Merchants:', 'Access:', 'Money:', 'Operations:', 'Others:']

/** The parser removes the colours where there are none. */
const always = { validateStream: false }

const footer = `
"payweave help <command>" shows a group or the options of a command. Every command accepts --json: one JSON object per line.
Exit codes: 0 success, 1 failure, 2 invalid usage.`

/**
 * Makes the parser. Parsing runs the command that was typed and rejects as it does, or with a CommanderError after help, the
 * version or a message about invalid usage was written.
 */
export function commandParser(commands: readonly Command[], options: ParserOptions): Parser {
  const { stdout, stderr, env } = options
  const program = new Parser('payweave')
    .description('Merchants, access, money and operations of Payweave.')
    .version(packageJson.version)
    .exitOverride()
    // Options after `bootstrap rotate` are not those of `bootstrap`.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'payweave: ')),
      getOutHelpWidth: () => 110,
      getErrHelpWidth: () => 110,
      getOutHasColors: () => hasColors(stdout, env),
      getErrHasColors: () => hasColors(stderr, env),
    })
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      visibleArguments: () => [],
      styleTitle: (text) => styleText('bold', text, always),
      styleSubcommandText: (text) => styleText('cyan', text, always),
      styleOptionText: (text) => styleText('cyan', text, always),
    })
    .commandsGroup('Others:')
    .addHelpText('after', footer)
  const parents = new Map<string, Parser>()
  for (const command of commands.toSorted(inOrderOfHelp)) {
    const [first = '', second] = command.name.split(' ')
    if (second === undefined) {
      const parser = program.command(first).helpGroup(headingOf(first))
      parents.set(first, addLeaf(parser, command, options))
    } else {
      const parent = parents.get(first) ?? addGroup(program, first)
      parents.set(first, parent)
      addLeaf(parent.command(second), command, options)
    }
  }
  return program
}

/** By heading; a group that is a command too before the commands in it. */
function inOrderOfHelp({ name: one }: Command, { name: other }: Command): number {
  return rankOf(one) - rankOf(other)
}

function rankOf(name: string): number {
  const [first = '', second] = name.split(' ')
  return 2 * headingOrder.indexOf(headingOf(first)) + (second === undefined ? 0 : 1)
}

function addGroup(program: Parser, name: string): Parser {
  const { says = name, alias } = groups[name] ?? {}
  const group = program.command(name).description(says).helpGroup(headingOf(name))
  return alias === undefined ? group : group.alias(alias)
}

function headingOf(name: string): string {
  return groups[name]?.heading ?? headings[name] ?? 'Others:'
}

function addLeaf(parser: Parser, command: Command, { run }: ParserOptions): Parser {
  const { operands, options, example, flags = {} } = command
  parser.description(command.summary).usage(`${operands} [options]`.trim())
  // An unknown option is refused even beside --help.
  parser.helpOption(false)
  if (operands !== '') parser.argument('[operands...]')
  for (const [name, meaning] of Object.entries(options)) parser.option(`--${name} <value>`, meaning)
  for (const [name, meaning] of Object.entries(flags)) parser.option(`--${name}`, meaning)
  parser.option('--json', 'one JSON object per line').option('-h, --help', 'this text')
  if (example !== undefined) parser.addHelpText('after', `\nExample:\n  payweave ${example}`)
  return parser.action(async () => {
    const typed = typedOf(parser)
    if (typed.flags.has('help')) parser.outputHelp()
    else await run(command, typed)
  })
}

function typedOf(parser: Parser): Typed {
  const typed: Typed = { options: {}, flags: new Set(), operands: parser.args }
  for (const option of parser.options) {
    const name = option.long?.slice(2) ?? ''
    const value: unknown = parser.getOptionValue(option.attributeName())
    if (typeof value === 'string') typed.options[name] = value
    // `--no-follow` makes `follow` false.
    else if (value === !option.negate) typed.flags.add(name)
  }
  return typed
}
