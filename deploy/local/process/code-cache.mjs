// Keeps the launcher's code compiled from one start to the next; to be loaded before it. Plain JavaScript, since the parser
// of TypeScript is itself a part of what need not be loaded again.
import module from 'node:module'
import path from 'node:path'

// Beside the code and not in the data folder: nothing is made there before the settings are checked. A folder that
// cannot be written costs some time at each start, and nothing else.
module.enableCompileCache(
  path.resolve(import.meta.dirname, '../../../node_modules/.cache/payweave/launcher'),
)
