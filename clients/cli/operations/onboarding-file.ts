// The command that reads a file of a new customer whose profile waits for a decision.
import fs from 'node:fs'
import { isUuid } from '#core/identity/id.ts'
import {
  type OnboardingArtefact,
  OnboardingService,
} from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { UsageError } from '../usage-error.ts'

/** `onboarding file`. */
export const onboardingFileCommand: Command = {
  name: 'onboarding file',
  operands: '<review id> <file>',
  summary:
    'Writes a file of a new customer to a path or to standard output; "onboarding show" names the files, by id and by field such as selfie.',
  example:
    'onboarding file 0197a9b0-3f6a-7000-8000-000000000001 id_document1_file --out passport.pdf',
  options: {
    ...optionsFor('accounts'),
    out: 'file to write, readable by its owner alone; "-": standard output',
  },
  flags: { force: 'overwrites the file of --out' },
  run: download,
}

async function download(context: CommandContext): Promise<void> {
  const { options, flags, operands, env, json } = context
  const [reviewId, file, ...others] = operands
  if (reviewId === undefined || file === undefined || others.length > 0) {
    throw new UsageError('pass a review id and a file, by its id or field')
  }
  if (!isUuid(reviewId)) throw new UsageError('name the review by its UUID')
  const { out } = options
  if (out === undefined) throw new UsageError('--out is missing: a path, or - for standard output')
  if (out === '-' && json) throw new UsageError('--json needs a path in --out')
  if (out !== '-' && !flags.has('force') && fs.existsSync(out)) {
    throw new UsageError(`${out} exists: pass --force to overwrite it`)
  }
  const connection = connect(options, env, 'accounts')
  try {
    const { artefact, bytes } = await read(connection, reviewId, file)
    if (out === '-') context.write(bytes)
    else writeFile(context, out, artefact, bytes)
  } finally {
    await connection.close()
  }
}

async function read(connection: Connection, reviewId: string, file: string) {
  const onboardings = connection.client(OnboardingService)
  const { onboarding } = await onboardings.getOnboarding({ reviewId })
  const artefacts = onboarding?.artefacts ?? []
  const artefact = artefacts.find(({ artefactId, field }) => artefactId === file || field === file)
  if (artefact === undefined) {
    const fields = artefacts.map(({ field }) => field).join(', ')
    throw new Error(`the profile has no such file; it has ${fields || 'none'}`)
  }
  const { artefactId } = artefact
  const chunks: Uint8Array[] = []
  for await (const { chunk } of onboardings.readOnboardingArtefact({ reviewId, artefactId })) {
    chunks.push(chunk)
  }
  return { artefact, bytes: Buffer.concat(chunks) }
}

function writeFile(
  { flags, json, print }: CommandContext,
  out: string,
  { artefactId, field, mediaType }: OnboardingArtefact,
  bytes: Uint8Array,
): void {
  // It has personal data. A file that was overwritten keeps its mode otherwise.
  if (flags.has('force')) fs.rmSync(out, { force: true })
  fs.writeFileSync(out, bytes, { flag: 'wx', mode: 0o600 })
  const facts = { file: out, artefact_id: artefactId, field, media_type: mediaType }
  const size = bytes.byteLength
  print(
    json ? JSON.stringify({ ...facts, size_bytes: size }) : `${out}  ${mediaType}  ${size} bytes`,
  )
}
