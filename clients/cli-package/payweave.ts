// The command line as a package.
import { portableCommands } from '../cli/portable-commands.ts'
import { runCommands } from '../cli/run.ts'

process.exitCode = await runCommands(portableCommands, process.argv.slice(2))
