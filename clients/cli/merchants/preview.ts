// The command that writes the pages of a merchant's payers as files. It renders them as the gateway does, so it works in a checkout only.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#core/errors/errors.ts'
import { languageOfTag } from '#core/text/language.ts'
import { brandFrom } from '../../../gateway/pages/brand/brands.ts'
import {
  type AccessWork,
  namingOptions,
  oneOperand,
  projectNamed,
  projectOption,
  withAccess,
} from '../access.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../usage-error.ts'

/** `merchant preview`. */
export const merchantPreviewCommand: Command = {
  name: 'merchant preview',
  operands: '<merchant>',
  summary:
    'Writes every state of a payer’s page and of a receipt with its branding, as HTML files.',
  options: {
    ...namingOptions,
    ...projectOption,
    out: 'folder for the files',
    language: 'language of the pages, such as pt-BR (en)',
  },
  run: (context) => withAccess(context, previewMerchant),
}

const previewMerchant: AccessWork = async (context, access) => {
  const { out, language: tag = 'en' } = context.options
  const merchantId = oneOperand(context, 'merchant')
  if (out === undefined) throw new UsageError('--out is missing')
  const language = languageOfTag(tag)
  if (language === undefined) throw new UsageError(`there are no pages in ${tag}`)
  const projectId = await projectNamed(context, access)
  const { merchant } = await access.getMerchant({ projectId, merchantId })
  if (merchant === undefined) throw new Failure('MERCHANT_NOT_FOUND', 'the answer has no merchant')
  const { businessName, branding } = merchant
  // The other commands do without the gateway.
  const { drawPreview, renderPreview } = await import(
    '../../../gateway/pages/preview/render-preview.ts'
  )
  const shown = { businessName, brand: brandFrom(branding) }
  const { logoPng: logo } = branding?.logoDigest
    ? await access.getMerchantLogo({ projectId, merchantId })
    : {}
  mkdirSync(out, { recursive: true })
  const write = (file: string, content: string | Uint8Array) => {
    const written = join(out, file)
    writeFileSync(written, content)
    context.print(context.json ? JSON.stringify({ file: written }) : written)
  }
  for (const { file, html } of await renderPreview(shown, language)) write(file, html)
  for (const { file, pdf } of await drawPreview({ ...shown, logo }, language)) write(file, pdf)
  if (logo !== undefined) writeFileSync(join(out, 'logo.png'), logo)
}
