// Loaded before a process of ours in a campaign: on SIGUSR2 it collects its garbage and writes the bytes that live to a file.
import fs from 'node:fs'
import path from 'node:path'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const folder = process.env.HEAP_FOLDER ?? ''
  const file = path.join(folder, String(process.pid))
  process.on('SIGUSR2', () => {
    globalThis.gc?.({ type: 'major', flavor: 'last-resort', execution: 'sync' })
    const { heapUsed, external } = process.memoryUsage()
    fs.writeFileSync(file, String(heapUsed + external))
  })
  // After the handler: the file says that the process may be sent the signal, which otherwise ends it.
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(file, '')
}
