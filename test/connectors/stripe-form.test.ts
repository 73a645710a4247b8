// The card form of the Stripe connector in a browser, in the frame of a payer's page: what its script sends, shows and reports, under its Content-Security-Policy. In place of Stripe.js
// stands a script of ours with the functions that Stripe declares; its fields are in a frame of js.stripe.com.
import { randomUUID } from 'node:crypto'
import type { Browser, Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  announce,
  type BackendCheck,
  type CheckContext,
  reported,
} from '../../tools/conformance/backend/check.ts'
import { findChromium, launchChromium } from '../browser/chromium.ts'
import { visit } from '../browser/visit.ts'
import { eventually } from '../support/eventually.ts'
import { passedOver } from '../support/system-program.ts'
import { type ConnectorProcess, prepareConnector } from './harness.ts'
import { cards, publishableKey, secretKey, startStripe, webhookSecret } from './stripe-mock.ts'

const chromium = await findChromium()
const pagesOrigin = 'https://pay.example'
/** Where the browser finds the connector: a page of the Internet may not frame one of this machine. */
const formsOrigin = 'https://cards.example'
type Message = { type: string; version: number; height: number; state: string }

/** What the form calls of Stripe.js. */
const stripeJs = `
  let number = ''
  addEventListener('message', ({ origin, data }) => {
    if (origin === 'https://js.stripe.com') number = data
  })
  globalThis.Stripe = (key) => ({
    elements: (options) => {
      globalThis.asked = { key, ...options }
      return {
        submit: async () => (number === '' ? { error: { message: 'Your card number is incomplete.' } } : {}),
        create: (type) => {
          const handlers = {}
          return {
            on: (event, handle) => (handlers[event] = handle),
            mount: (place) => {
              const frame = document.createElement('iframe')
              frame.src = 'https://js.stripe.com/fields.html?' + type
              frame.onload = () => handlers.ready()
              document.querySelector(place).append(frame)
              addEventListener('message', () => handlers.change({ empty: number === '' }))
            },
          }
        },
      }
    },
    createConfirmationToken: async () => ({ confirmationToken: { id: 'ctoken_' + number } }),
    handleNextAction: async ({ clientSecret }) => {
      await fetch('https://api.stripe.com/answer', { method: 'POST', body: clientSecret })
      return {}
    },
  })`
const fields = `<input aria-label="Card number" oninput="parent.postMessage(this.value, '*')">`

describe.skipIf(chromium.missing !== undefined)(`the card form${passedOver(chromium)}`, () => {
  let stripe: Awaited<ReturnType<typeof startStripe>>
  let connector: ConnectorProcess
  let browser: Browser

  beforeAll(async () => {
    stripe = await startStripe()
    connector = await prepareConnector({
      name: 'stripe',
      identity: 'connector-stripe',
      migrations: 'migrations',
      secrets: { 'stripe-secret-key': secretKey, 'stripe-webhook-secret': webhookSecret },
      variables: (origin) => {
        stripe.sendEventsTo(`${origin}/webhooks/stripe`)
        return {
          STRIPE_URL: stripe.url,
          STRIPE_PUBLISHABLE_KEY: publishableKey,
          CONNECTOR_PUBLIC_URL: formsOrigin,
        }
      },
    })
    await connector.start()
    browser = await launchChromium(chromium)
  })
  afterAll(async () => {
    await browser?.close()
    await stripe.close()
    await connector.remove()
  })

  async function withContext(run: (context: CheckContext) => Promise<void>): Promise<void> {
    const check: BackendCheck = {
      name: 'stripe/form',
      rule: 'A rule of this file.',
      needs: [],
      run,
    }
    const [result] = await connector.run([check])
    expect(result?.reason).toBeUndefined()
  }

  /** The form of a new charge in the frame of a payer's page. */
  async function open(context: CheckContext) {
    const chargeId = await announce(context, { mobile_number: '+46733123999' })
    const returnUrl = `${pagesOrigin}/pay/${randomUUID()}`
    const theme = { accentColor: '#0b57d0', darkAccentColor: '#a8c7fa' }
    const asked = { chargeId, returnUrl, language: 'en', theme }
    const { frameUrl } = await context.charges.openCardFrame(asked)
    const tab = await visit(browser)
    const { page } = tab
    await standIn(page, returnUrl, frameUrl, stripe.authenticate)
    await page.route(`${formsOrigin}/**`, async (route) => {
      const url = route.request().url().replace(formsOrigin, connector.webhookOrigin)
      await route.fulfill({ response: await route.fetch({ url }) })
    })
    await page.goto(returnUrl)
    const frame = await eventually(
      () => page.frames().find((one) => one.url() === frameUrl) ?? false,
      10_000,
    )
    await frame.getByRole('button', { name: /^Pay/ }).waitFor()
    return { ...tab, chargeId, frame, returnUrl }
  }

  it('a payer who types a card number in Stripe’s frame pays, answers their bank, and the page that shows the form receives only height and state', () =>
    withContext(async (context) => {
      const { page, frame, chargeId, returnUrl, complaints, close } = await open(context)
      const button = frame.getByRole('button', { name: 'Pay 12.50 EUR' })
      await button.click()
      await frame.getByRole('alert').getByText('Your card number is incomplete.').waitFor()
      await type(frame, cards.asks)
      await button.click()
      await frame.getByRole('heading', { name: 'Approved' }).waitFor()
      await reported(context, chargeId, 'PAID')
      const proceed = frame.getByRole('link', { name: 'Continue' })
      expect(await proceed.getAttribute('href')).toBe(returnUrl)
      const messages = await messagesOf(page)
      const states = messages.map(({ state }) => state)
      expect([...new Set(states)]).toEqual(['ready', 'sending', 'editing', 'approved'])
      for (const { type, version, height, ...others } of messages) {
        expect([type, version, Object.keys(others)]).toEqual(['payweave.card-form', 1, ['state']])
        expect(height).toBeGreaterThan(120)
      }
      // The bank's questions need room.
      expect(Math.max(...messages.map(({ height }) => height))).toBeGreaterThan(600)
      expect(complaints()).toEqual([])
      await close()
    }))

  it('a payer whose card is declined reads why, and pays with another card in the same form', () =>
    withContext(async (context) => {
      const { page, frame, chargeId, complaints, close } = await open(context)
      await type(frame, cards.noFunds)
      await frame.getByRole('button', { name: /^Pay/ }).click()
      await frame.getByRole('alert').getByText('There is not enough money').waitFor()
      await reported(context, chargeId, 'REFUSED')
      expect((await messagesOf(page)).at(-1)?.state).toBe('declined')
      await type(frame, cards.good)
      await frame.getByRole('button', { name: /^Pay/ }).click()
      await frame.getByRole('heading', { name: 'Approved' }).waitFor()
      await reported(context, chargeId, 'PAID')
      expect(complaints()).toEqual([])
      await close()
    }))
})

/** Answers for the payer's page and for Stripe's hosts. */
async function standIn(
  page: Page,
  pageUrl: string,
  frameUrl: string,
  authenticate: (clientSecret: string, isRight: boolean) => void,
): Promise<void> {
  const script = 'messages = []; addEventListener("message", ({ data }) => messages.push(data))'
  const html = `<script>${script}</script><iframe src="${frameUrl}" height="500"></iframe>`
  await page.route(pageUrl, (route) => route.fulfill({ contentType: 'text/html', body: html }))
  await page.route('https://js.stripe.com/**', (route) =>
    route.request().url().includes('/fields.html')
      ? route.fulfill({ contentType: 'text/html', body: fields })
      : route.fulfill({ contentType: 'text/javascript', body: stripeJs }),
  )
  await page.route('https://api.stripe.com/answer', (route) => {
    authenticate(route.request().postData() ?? '', true)
    return route.fulfill({ headers: { 'access-control-allow-origin': '*' }, body: '{}' })
  })
}

function type(frame: Frame, number: string): Promise<void> {
  return frame.frameLocator('iframe').getByLabel('Card number').fill(number)
}

function messagesOf(page: Page): Promise<Message[]> {
  return page.evaluate('messages')
}
