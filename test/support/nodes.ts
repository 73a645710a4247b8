// The Node.js programs that packages are tested with.
import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The Node.js of the tests, and the one that the machine has by itself where there is another from version 20 on. */
export const nodes = new Set([
  process.execPath,
  ...(process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((place) => !place.includes('node_modules') && existsSync(join(place, 'node')))
    .map((place) => realpathSync(join(place, 'node')))
    .filter((node) => majorOf(node) >= 20),
])

function majorOf(node: string): number {
  return Number(execFileSync(node, ['-p', 'process.versions.node.split(".")[0]']))
}
