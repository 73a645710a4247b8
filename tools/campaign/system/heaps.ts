// The live heap of each process of a campaign, each after a collection of its garbage.
import fs from 'node:fs'
import path from 'node:path'
import { eventually } from '../../../test/support/eventually.ts'

/** In the data folder: a file for each process, by its id, which ./live-heap.mjs writes. */
export const heapFolder = 'heaps'

const collectedWithinMs = 20_000

/** Live megabytes of those of the processes that run Node.js, by name. Each stands still for about a tenth of a second. */
export async function readLiveMb(
  dataDir: string,
  pids: Readonly<Record<string, number>>,
): Promise<Record<string, number>> {
  const asked = Object.entries(pids).flatMap(([name, pid]) => {
    const file = path.join(dataDir, heapFolder, String(pid))
    return fs.existsSync(file) ? [{ name, pid, file }] : []
  })
  for (const { pid, file } of asked) {
    fs.writeFileSync(file, '')
    process.kill(pid, 'SIGUSR2')
  }
  const read = asked.map(async ({ name, file }) => {
    const bytes = await eventually(() => {
      const text = fs.readFileSync(file, 'utf8')
      if (text === '') throw new Error(`${name} did not collect its garbage`)
      return Number(text)
    }, collectedWithinMs)
    return [name, bytes / 2 ** 20] as const
  })
  return Object.fromEntries(await Promise.all(read))
}
