// Runs pgbench on a service's schema, as PostgreSQL's own measure of its throughput.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../../../deploy/local/process/tied-process.ts'

/** As many as the pool of a service has. */
const clients = 16
const run = promisify(execFile)

/** Transactions per second of the scripts, one picked for each; undefined without pgbench on this machine. */
export async function pgbench(
  databaseUrl: string,
  service: string,
  seconds: number,
  scripts: string[],
): Promise<number | undefined> {
  const program = findProgram('pgbench')
  if (program === undefined) return undefined
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-pgbench-'))
  const files = scripts.map((script, index) => {
    const file = path.join(folder, `${index}.sql`)
    fs.writeFileSync(file, `${script};\n`)
    return `--file=${file}`
  })
  const { hostname, port, password, pathname } = new URL(databaseUrl)
  try {
    const { stdout } = await run(
      program,
      [
        '--no-vacuum',
        '--protocol=prepared',
        `--client=${clients}`,
        '--jobs=1',
        `--time=${seconds}`,
        '--define=n=0',
        ...files,
        `--host=${hostname}`,
        `--port=${port}`,
        '--username=postgres',
        pathname.slice(1),
      ],
      {
        env: {
          ...process.env,
          PGPASSWORD: password,
          PGOPTIONS: `-c role=payweave_${service} -c search_path=${service}`,
        },
      },
    )
    const found = /^tps = ([\d.]+)/m.exec(stdout)?.[1]
    if (found === undefined || !/failed transactions: 0 /.test(stdout)) throw new Error(stdout)
    return Number(found)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
