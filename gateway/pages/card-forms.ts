// Opens the back end's card form for a payer's page.
import type { Client } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Brand } from './brand/brands.ts'
import { type CardForm, cardPath, type PageAddress } from './render.ts'

type CardForms = {
  checkout: Pick<Client<typeof CheckoutService>, 'openCardFrame'>
  log: Logger
}

/** A page is shown without its card form when the back end takes longer; a page in its frame waits for the rest. */
const formWithinMs = 700
/** The colours of `style.css`, for the card form of a merchant without colours. */
const defaultTheme = { accentColor: '#0b57d0', darkAccentColor: '#93bbfa' }

/** The back end's card form if it comes soon, else our own page that waits for it. */
export function openCardFormOrWait(
  forms: CardForms,
  address: PageAddress,
  brand: Promise<Brand>,
): Promise<CardForm> {
  const { linkToken, choice } = address
  // The form needs the brand's colours, and may take what time the brand leaves.
  const form = brand.then((found) => openCardForm(forms, address, found))
  const late = new Promise<CardForm>((resolve) => {
    const waits = { frameUrl: cardPath(linkToken, choice) }
    setTimeout(() => resolve(waits), formWithinMs).unref()
  })
  return Promise.race([form, late])
}

/** The back end's card form, or why there is none. */
export async function openCardForm(
  { checkout, log }: CardForms,
  { linkToken, choice }: PageAddress,
  { palettes }: Brand,
): Promise<CardForm> {
  const theme = palettes && {
    accentColor: palettes.light.accent,
    darkAccentColor: palettes.dark.accent,
  }
  const look = { language: choice.language, theme: theme ?? defaultTheme }
  try {
    const opened = await checkout.openCardFrame({ linkToken, ...look })
    return { frameUrl: opened.frameUrl }
  } catch (error) {
    log.warn({ err: error }, 'card form not available')
    // The connector of the share takes no cards; another option may work.
    const isOffered = !(error instanceof Failure && error.reason === 'UNSUPPORTED_CHANNEL_METHOD')
    return { problem: isOffered ? 'cardUnavailable' : 'cardNotOffered' }
  }
}
