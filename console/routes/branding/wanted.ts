// What a form wants a merchant's branding to be.
import type { Branding, UpdateMerchantRequest } from '#gen/payweave/accounts/v1/access_pb.js'
import type { ProjectWork } from '../../http/work.ts'

/** Fields of the form: those of the request, by the names that its refusals use. */
const textFields = ['color', 'support_email', 'support_phone', 'website_url'] as const
type TextField = (typeof textFields)[number]

/** What was typed, to be shown again. */
export type Texts = Record<TextField, string>

/** A change of a merchant's branding. The logo is changed only where the mask names it. */
export type Wanted = Pick<
  UpdateMerchantRequest,
  'projectId' | 'merchantId' | 'color' | 'supportEmail' | 'supportPhone' | 'websiteUrl' | 'logoPng'
> & { updateMask: { paths: string[] } }

/** The texts of a form. */
export function textsIn({ form }: ProjectWork): Texts {
  const text = (name: TextField) => form.get(name)?.trim() ?? ''
  return {
    color: text('color').toLowerCase(),
    support_email: text('support_email'),
    support_phone: text('support_phone').replaceAll(/[\s()-]/g, ''),
    website_url: text('website_url'),
  }
}

/** The texts of what is stored. */
export function textsOf(branding: Branding | undefined): Texts {
  return {
    color: branding?.color ?? '',
    support_email: branding?.supportEmail ?? '',
    support_phone: branding?.supportPhone ?? '',
    website_url: branding?.websiteUrl ?? '',
  }
}

/** The name under which a form says what its page showed of a text. */
export function shownName(name: string): string {
  return `shown_${name}`
}

/** The change that a form asks for: of texts those alone that differ from what its page showed. */
export function wantedIn(work: ProjectWork, merchantId: string): Wanted {
  const { request, project, form } = work
  const { logo_png: file } = (request.body ?? {}) as { logo_png?: unknown }
  const logoPng = Buffer.isBuffer(file) ? file : Buffer.alloc(0)
  // A browser sends an empty file where none is chosen.
  const changesLogo = logoPng.length > 0 || form.get('remove_logo') === 'on'
  const texts = textsIn(work)
  const { color, support_email, support_phone, website_url } = texts
  const changed = textFields.filter((name) => texts[name] !== form.get(shownName(name)))
  return {
    projectId: project.projectId,
    merchantId,
    color,
    supportEmail: support_email,
    supportPhone: support_phone,
    websiteUrl: website_url,
    logoPng,
    updateMask: { paths: [...changed, ...(changesLogo ? ['logo_png'] : [])] },
  }
}
