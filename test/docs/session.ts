// Runs the blocks of one page in one shell session, in a folder that looks like the checkout of a running local system.
import { execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import type { SharedMesh } from '../support/mesh.ts'
import { temporaryFolder } from '../support/servers.ts'
import { type Block, root } from './pages.ts'

/** Timeout of a page; no page takes that long. */
const limitMs = 120_000

/** Stands in the output before what each step prints. */
const mark = '\u241e '

/** Programs that work on what a test machine does not have. */
const outsidePrograms = [
  'kubectl',
  'docker',
  'helm',
  'cosign',
  'nats',
  'protoc',
  'psql',
  'npm',
  'python3',
  'xargs',
]

/** Result of a session. */
export interface Outcome {
  /** The block that failed, with what it printed; empty when none did. */
  failure: string
  /** Commands of `payweave` that were not run, for their arguments to be checked. */
  commands: string[][]
}

/** A block and whether its commands are run; if not, they are only checked. */
export type Step = Pick<Block, 'place' | 'language' | 'code'> & { isRun: boolean }

/** Runs steps one after the other in one session, up to the first that fails. */
export async function runSteps(mesh: SharedMesh, steps: Step[]): Promise<Outcome> {
  const folder = temporaryFolder('page')
  try {
    const checkout = makeCheckout(folder, mesh)
    const bin = path.join(folder, 'bin')
    writePrograms(bin)
    const env = {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: folder,
      LANG: 'C.UTF-8',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: new URL(mesh.sandbox.base_url).port,
      PORT_BASE: String(mesh.portBase),
      DOCS_ROOT: root,
      DOCS_NODE: process.execPath,
      DOCS_BIN: bin,
      DOCS_CURL: programOf('curl'),
      DOCS_COMMANDS: path.join(folder, 'commands'),
    }
    const script = steps.map((step, index) => scriptOf(step, folder, index, mesh)).join('\n')
    fs.writeFileSync(env.DOCS_COMMANDS, '')
    const words = ['-c', `exec 2>&1\nset -eo pipefail\n${script}`]
    const { code, output } = await run('bash', words, checkout, env)
    return {
      failure: code === 0 ? '' : `ended with ${code}: ${output.split(mark).at(-1)}`,
      commands: fs
        .readFileSync(env.DOCS_COMMANDS, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split('\0').slice(0, -1)),
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

function scriptOf(step: Step, folder: string, index: number, mesh: SharedMesh): string {
  const file = path.join(folder, `step-${index}`)
  const at = `echo '${mark}${step.place}'`
  const code = withPortsOf(mesh, step.code)
  if (step.language === 'js') {
    const program = path.join(folder, `step-${index}.mjs`)
    fs.writeFileSync(program, code)
    return `${at}\n"$DOCS_NODE" '${program}'`
  }
  fs.writeFileSync(file, code)
  // A block that does not parse must not end the session before it is known which one it was.
  const source = `${at}\nbash -n '${file}'\n`
  return step.isRun
    ? `${source}. '${file}'`
    : `${source}(export DOCS_CHECK=1 PATH="$DOCS_BIN"; . '${file}') < /dev/null`
}

/** Pages show the ports that a local start takes unless it is given others. */
function withPortsOf({ portBase, sandbox }: SharedMesh, code: string): string {
  return code
    .replaceAll('http://127.0.0.1:8080', sandbox.base_url)
    .replaceAll(/127\.0\.0\.1:71(\d\d)/g, (_, part) => `127.0.0.1:${portBase + Number(part)}`)
}

/**
 * The files of the repository, the data folder of the system, our packages under their published names, and the file that a Python
 * environment is activated by, because pages make such an environment where commands are only checked.
 */
function makeCheckout(folder: string, { dataDir }: SharedMesh): string {
  const checkout = path.join(folder, 'checkout')
  fs.mkdirSync(checkout)
  const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')
  const names = new Set(tracked.map((file) => file.split('/')[0] ?? ''))
  for (const name of [...names, 'node_modules'].filter((one) => one !== '')) {
    fs.symlinkSync(path.join(root, name), path.join(checkout, name))
  }
  fs.symlinkSync(dataDir, path.join(checkout, '.payweave'))
  const environment = path.join(checkout, '.venv/bin')
  fs.mkdirSync(environment, { recursive: true })
  fs.writeFileSync(path.join(environment, 'activate'), '')
  linkPackages(folder)
  return checkout
}

/** Makes programs in a folder find our packages under their published names. */
export function linkPackages(folder: string): void {
  const packages = {
    client: { '.': './clients/grpc/index.ts', './gen/*.js': './gen/*.js' },
    sdk: { '.': './clients/sdk-typescript/index.ts' },
  }
  for (const [name, exports] of Object.entries(packages)) {
    const place = path.join(folder, 'node_modules', '@payweave', name)
    fs.mkdirSync(place, { recursive: true })
    for (const part of ['clients', 'gen']) fs.symlinkSync(path.join(root, part), `${place}/${part}`)
    fs.writeFileSync(`${place}/package.json`, JSON.stringify({ type: 'module', exports }))
  }
}

/**
 * Programs of our own, and stubs for those of elsewhere, at the front of the PATH. Where commands are only checked they are
 * all that is in it.
 */
function writePrograms(bin: string): void {
  fs.mkdirSync(bin)
  const first = `#!${programOf('bash')}\nset -e\n`
  const write = (name: string, text: string) =>
    fs.writeFileSync(path.join(bin, name), `${first}${text}`, { mode: 0o755 })
  write('npx', npxScript)
  write('curl', '[ -n "$DOCS_CHECK" ] || exec "$DOCS_CURL" --fail-with-body "$@"\n')
  write('mkdir', `[ -n "$DOCS_CHECK" ] || exec '${programOf('mkdir')}' "$@"\n`)
  write('node', nodeScript)
  for (const name of outsidePrograms) write(name, outsideScript)
}

/** `npx` without its start of seconds. */
const npxScript = `
refuse() { echo "npx $*" >&2; exit 90; }
program=$1
shift
case $program in
  payweave)
    if [ -z "$DOCS_CHECK" ]; then exec "$DOCS_NODE" "$DOCS_ROOT/clients/cli/payweave.mjs" "$@"; fi
    [ $# -eq 0 ] || { printf '%s\\0' "$@"; echo; } >> "$DOCS_COMMANDS" ;;
  buf) [ -n "$DOCS_CHECK" ] || exec "$DOCS_ROOT/node_modules/.bin/buf" "$@" ;;
  vitest)
    [ -n "$DOCS_CHECK" ] || refuse 'vitest: say why it is not run'
    for word in "$@"; do
      case $word in */*) [ -e "$word" ] || refuse "vitest: $word is not there" ;; esac
    done ;;
  *) refuse "$program: the test does not know this program" ;;
esac
`

/** Where commands are only checked, the program that Node.js is to run has to be there. */
const nodeScript = `
[ -n "$DOCS_CHECK" ] || exec "$DOCS_NODE" "$@"
[ -e "$1" ] || { echo "node: $1 is not there" >&2; exit 90; }
`

/** Looks at the files and scripts that a command names, and does nothing. */
const outsideScript = `
name=\${0##*/}
refuse() { echo "$name: $*" >&2; exit 90; }
# kubectl takes the objects of one command as pod/x, or as pod x, but not as both.
check_objects() {
  before= verb= typed= untyped=
  for word; do
    case $before,$word in
      -[cfklnop],* | *,-*) ;;
      *,*/*) typed=$word ;;
      *) if [ -n "$verb" ]; then untyped=$word; else verb=$word; fi ;;
    esac
    before=$word
  done
  case $verb in
    get | delete | describe | scale | patch | wait)
      [ -z "$typed" ] || [ -z "$untyped" ] || refuse "$untyped needs its type before a slash, as $typed has" ;;
  esac
}
[ -n "$DOCS_CHECK" ] || refuse 'works on what is not here: say why it is not run'
if [ "$name" = npm ]; then
  [ "$1" != run ] || set -- "$2"
  case $1 in ci | install | link | pack | sbom) exit 0 ;; esac
  script=$("$DOCS_NODE" -p 'require(process.argv[1]).scripts[process.argv[2]] ?? ""' "$DOCS_ROOT/package.json" "$1")
  [ -n "$script" ] || refuse "there is no script $1"
  exit 0
fi
[ "$name" != kubectl ] || check_objects "$@"
while [ $# -gt 0 ]; do
  case $name,$1 in
    kubectl,kustomize) [ -e "$2/kustomization.yaml" ] || refuse "$2 is no kustomization" ;;
    kubectl,logs) exit 0 ;;
    kubectl,-k) [ -e "$2/kustomization.yaml" ] || refuse "$2 is no kustomization" ;;
    *,-f | *,--file | *,--values) [ -e "$2" ] || refuse "$2 is not there" ;;
  esac
  shift
done
`

function programOf(name: string): string {
  return execFileSync('bash', ['-c', `type -P ${name}`], { encoding: 'utf8' }).trim()
}

/** Runs a command in a process group of its own, of which nothing is left at the end. */
async function run(command: string, words: string[], cwd: string, env: NodeJS.ProcessEnv) {
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
  const child = spawn(command, words, { cwd, env, detached: true, stdio })
  let output = ''
  child.stdout?.on('data', (part) => {
    output += String(part)
  })
  const endGroup = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // All have ended by themselves.
    }
  }
  const timer = setTimeout(() => {
    output += `\nstopped after ${limitMs} ms`
    endGroup()
  }, limitMs)
  child.once('exit', endGroup)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { code, output }
}
