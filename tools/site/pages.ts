// The pages of the documentation site in their order: the address of each, and the file that it is made of.
import { errorSections } from './error-catalogue.ts'
import { operationIndex, operationPages, pushReference } from './reference.ts'

/**
 * A page: of a Markdown file of the repository, or of generated Markdown. `label` names it in the navigation; without one its
 * title does.
 */
export type Page = { slug: string; label?: string } & ({ source: string } | { markdown: string })
/** Pages that the navigation lists together. */
export type Section = { title: string; pages: Page[] }

const file = (slug: string, source: string, label?: string): Page => ({
  slug,
  source,
  ...(label !== undefined && { label }),
})

const guide = (name: string, slug = name): Page => file(slug, `docs/guides/${name}.md`)

/** The page of `/docs` itself. */
export const homeSlug = 'index'

/** All pages but the first. */
export function siteSections(): Section[] {
  return [
    {
      title: 'Start',
      pages: [
        file('quick-start', 'docs/integrate/quick-start.md', 'Quick start'),
        file('set-up', 'docs/guides/set-up.md', 'Set up a client'),
        file('sdk', 'docs/integrate/sdk.md', 'SDKs'),
        file('sdk-typescript', 'clients/sdk-typescript/README.md', 'TypeScript SDK'),
        file('sdk-python', 'clients/sdk-python/README.md', 'Python SDK'),
        file('examples', 'examples/README.md', 'A shop in one file'),
      ],
    },
    {
      title: 'Guides',
      pages: [
        guide('accept-a-payment'),
        guide('manage-payments'),
        guide('webhooks'),
        guide('accounts'),
        guide('account-data'),
        guide('transfers'),
        guide('quotes'),
        guide('bill-payments'),
        guide('errors', 'handle-errors'),
        guide('idempotency'),
        guide('limits'),
        guide('versioning'),
        guide('testing'),
        guide('going-live'),
        guide('glossary'),
      ],
    },
    {
      title: 'In detail',
      pages: [
        file('api', 'docs/integrate/api.md', 'Rules of all routes'),
        file('api-accounts', 'docs/integrate/api-accounts.md', 'Accounts'),
        file('api-money', 'docs/integrate/api-money.md', 'Bills, quotes, transactions'),
        file('api-merchant', 'docs/integrate/api-merchant.md', 'Lists, refunds, deliveries'),
        file('states', 'docs/integrate/states.md', 'States'),
        file('payouts-and-fees', 'docs/integrate/payouts-and-fees.md', 'Payouts and fees'),
        file('not-supported', 'docs/integrate/not-supported.md', 'What is not supported'),
        file('checkout', 'docs/integrate/checkout.md', "The payer's page"),
        file('card-frame', 'docs/integrate/card-frame.md', 'The card form'),
        file('events', 'docs/integrate/events.md', 'Pushes'),
        file('push-examples', 'docs/integrate/push-examples.md', 'An example of every push'),
        file('webhooks-signed', 'docs/integrate/webhooks-signed.md', 'Signed callbacks'),
        file('webhooks-signed-examples', 'docs/integrate/webhooks-signed-examples.md', 'Verifiers'),
        file('sandbox', 'docs/integrate/sandbox.md', 'The sandbox'),
        file('cli', 'docs/operate/cli.md', 'The command line'),
        file('cli-merchant', 'docs/integrate/cli-merchant.md', 'The command line of a merchant'),
        file('changelog', 'CHANGELOG.md', 'Changelog'),
      ],
    },
    {
      title: 'Reference',
      pages: [
        { slug: 'reference', label: 'All operations', markdown: operationIndex() },
        ...operationPages(),
        { slug: 'reference-pushes', markdown: pushReference() },
        { slug: 'errors', markdown: errorSections() },
      ],
    },
  ]
}

/** The first page. */
export const homePage: Page = file(homeSlug, 'docs/guides/README.md')

/** Where links to files that are no page lead, relative to `/docs`. */
export const otherAddresses: Readonly<Record<string, string>> = {
  'docs/integrate/errors.md': 'errors',
  'docs/openapi/2024-10-01.json': '../openapi.json?version=2024-10-01',
  'docs/openapi/2026-07-01.json': '../openapi.json?version=2026-07-01',
  'docs/openapi/2026-12-01.json': '../openapi.json?version=2026-12-01',
  'docs/openapi/asyncapi.json': '../asyncapi.json',
}
