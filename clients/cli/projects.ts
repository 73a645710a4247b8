// The commands on projects.
import { Environment, type Project, ProjectSchema } from '#gen/payweave/accounts/v1/access_pb.js'
import {
  type AccessWork,
  accountsOptions,
  environmentOf,
  namingOptions,
  once,
  onceOption,
  oneOperand,
  projectNamed,
  withAccess,
} from './access.ts'
import type { Command, CommandContext } from './command.ts'
import { jsonLine, printable, wordOf } from './output/print.ts'
import { type ListShape, pagesOf, printList } from './output/table.ts'
import { wholeNumber } from './parser/whole-number.ts'
import { UsageError } from './usage-error.ts'

const accessOptions = {
  'account-access': 'on or off: may use the Account API',
  'allowed-ips': 'addresses and CIDR ranges, comma-separated; none: no restriction',
} as const

/** The commands of `project`. */
export const projectCommands: Command[] = [
  {
    name: 'project create',
    operands: '<name>',
    summary: 'Creates a project without a key. Its environment never changes.',
    options: {
      ...accountsOptions,
      environment: 'sandbox or production (sandbox)',
      ...accessOptions,
      ...onceOption,
    },
    run: (context) => withAccess(context, create),
  },
  {
    name: 'project list',
    operands: '',
    summary: 'Lists projects, oldest first.',
    options: {
      ...accountsOptions,
      environment: 'filter by environment: sandbox or production',
      limit: 'maximum number (50)',
    },
    run: (context) => withAccess(context, list),
  },
  {
    name: 'project show',
    operands: '<project>',
    summary: 'Shows a project.',
    options: namingOptions,
    run: (context) => withAccess(context, show),
  },
  {
    name: 'project update',
    operands: '<project>',
    summary: 'Changes account access and the list of addresses; an omitted option changes nothing.',
    options: { ...namingOptions, ...accessOptions },
    run: (context) => withAccess(context, update),
  },
]

const create: AccessWork = async (context, access) => {
  const name = oneOperand(context, 'name')
  const environment = environmentOf(context)
  const { accountAccess = false, allowedIps = [] } = wantedAccess(context)
  const { project } = await once(context, (requestId) =>
    access.createProject({ name, environment, accountAccess, allowedIps, requestId }),
  )
  printProject(context, project)
}

const projectShape: ListShape<Project> = {
  headings: ['PROJECT', 'ENVIRONMENT', 'ACCOUNT API', 'NAME'],
  cells: (project) => [
    project.projectId,
    wordOf(Environment, project.environment),
    project.accountAccess ? 'on' : 'off',
    printable(project.name),
  ],
  json: (project) => jsonLine(ProjectSchema, project),
  none: 'no projects',
}

const list: AccessWork = async (context, access) => {
  const { options } = context
  const environment =
    options['environment'] === undefined ? Environment.UNSPECIFIED : environmentOf(context)
  const limit = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  const pages = pagesOf(limit, async (pageSize, pageToken) => {
    const page = await access.listProjects({ environment, pageSize, pageToken })
    return { items: page.projects, nextPageToken: page.nextPageToken }
  })
  await printList(context, projectShape, pages)
}

const show: AccessWork = async (context, access) => {
  const projectId = await projectNamed(context, access, oneOperand(context, 'project'))
  printProject(context, (await access.getProject({ projectId })).project)
}

const update: AccessWork = async (context, access) => {
  const wanted = wantedAccess(context)
  const paths = [
    ...(wanted.accountAccess === undefined ? [] : ['account_access']),
    ...(wanted.allowedIps === undefined ? [] : ['allowed_ips']),
  ]
  if (paths.length === 0) throw new UsageError('pass --account-access or --allowed-ips')
  const projectId = await projectNamed(context, access, oneOperand(context, 'project'))
  const updateMask = { paths }
  const { project } = await access.updateProjectAccess({ projectId, ...wanted, updateMask })
  printProject(context, project)
}

function wantedAccess({ options }: CommandContext): {
  accountAccess?: boolean
  allowedIps?: string[]
} {
  const { 'account-access': access, 'allowed-ips': ips } = options
  if (access !== undefined && access !== 'on' && access !== 'off') {
    throw new UsageError('--account-access must be on or off')
  }
  return {
    ...(access === undefined ? {} : { accountAccess: access === 'on' }),
    ...(ips === undefined ? {} : { allowedIps: ips === 'none' ? [] : ips.split(',') }),
  }
}

function printProject({ json, print }: CommandContext, project: Project | undefined): void {
  if (project === undefined) return
  if (json) {
    print(jsonLine(ProjectSchema, project))
    return
  }
  print(`project      ${project.projectId}`)
  print(`name         ${printable(project.name)}`)
  print(`environment  ${wordOf(Environment, project.environment)}`)
  print(`account api  ${project.accountAccess ? 'on' : 'off'}`)
  print(`allowed ips  ${project.allowedIps.join(', ') || 'any'}`)
}
