// Refuses a Node.js that cannot run this code. Plain JavaScript, so that any version can read it.
const oldestMajor = 24

if (Number(process.versions.node.split('.')[0]) < oldestMajor) {
  process.stderr.write(
    `Payweave needs Node.js ${oldestMajor} or newer; this is ${process.versions.node}.\n` +
      'Run `npm ci`, then `npm start`: it uses the bundled Node.js where there is one for this system.\n' +
      'Elsewhere install Node.js 24 from https://nodejs.org.\n',
  )
  process.exit(1)
}
