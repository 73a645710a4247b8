// Finds Python with grpcio, protoc and its plugins; unpacks Debian's into the cache of programs, without root. No test logic here.
import { execFile, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../../../deploy/local/nats/program.ts'
import { unpackPackages, withLists } from '../../../deploy/local/preflight/system-package.ts'

/** The environment in which they run, or why there is none. */
export type GrpcTools =
  | { env: NodeJS.ProcessEnv; missing?: never }
  | { env?: never; missing: string }

const run = promisify(execFile)
const packages = 'python3-grpcio protobuf-compiler protobuf-compiler-grpc libprotobuf-dev'
const probe = "protoc --version && command -v grpc_python_plugin && python3 -c 'import grpc'"

/**
 * Finds them. Where they are not to be had the tests say so and are passed over; with CI or PAYWEAVE_REQUIRE_GRPC_TOOLS
 * set that is a failure.
 */
export async function findGrpcTools(): Promise<GrpcTools> {
  const cached = path.join(cacheFolder(os.tmpdir()), 'grpc-tools')
  const found = [envOf('/'), envOf(cached)].find(works)
  if (found !== undefined) return { env: found }
  const work = fs.mkdtempSync(`${cached}-`)
  try {
    await withLists(work, (options) => unpackWithMissing(options, work))
    if (!works(envOf(cached))) {
      // No other run unpacked them meanwhile.
      fs.rmSync(cached, { recursive: true, force: true })
      fs.renameSync(path.join(work, 'package'), cached)
    }
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    return without(stderr.trim().split('\n').at(-1) || message)
  } finally {
    fs.rmSync(work, { recursive: true, force: true })
  }
  const env = envOf(cached)
  return works(env) ? { env } : without('the unpacked packages do not run')
}

/** The packages, and those that they need and this machine lacks. */
async function unpackWithMissing(options: string[], work: string): Promise<void> {
  const words = ['-s', '-q', '--no-install-recommends', 'install', ...packages.split(' ')]
  const { stdout } = await run('apt-get', [...options, ...words])
  const missing = [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name)
  await unpackPackages(missing, options, work)
}

/** The system's Python: the packages have libraries for its version. */
function envOf(folder: string): NodeJS.ProcessEnv {
  const libraries = fs.globSync(`${folder}/usr/lib/*-linux-gnu*`)
  return {
    PATH: `${folder}/usr/bin:/usr/bin:/bin`,
    PYTHONPATH: path.join(folder, 'usr/lib/python3/dist-packages'),
    LD_LIBRARY_PATH: libraries.join(':'),
  }
}

function works(env: NodeJS.ProcessEnv): boolean {
  return spawnSync('sh', ['-c', probe], { env, stdio: 'ignore' }).status === 0
}

function without(reason: string): GrpcTools {
  const missing = `there are no ${packages}: ${reason}`
  const { CI = '', PAYWEAVE_REQUIRE_GRPC_TOOLS: required = '' } = process.env
  if (CI !== '' || required !== '') throw new Error(`Stubs are not tested: ${missing}`)
  return { missing }
}
