// Shows that a business account gets credentials that work, once, and that none of them is in the database.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { authenticateApiKey } from '../../services/accounts/access/operations/authenticate.ts'
import { hashPin } from '../../services/accounts/customers/domain/pin.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const business = (more: object = {}) => ({
  projectId: harness.projects.demo,
  businessName: 'Kente House',
  firstName: 'Efua',
  lastName: 'Sutherland',
  email: 'efua@kente.example',
  mobileNumber: '+12025550177',
  ...more,
})

describe('a business account', () => {
  it('a business account is a merchant of the calling project with an API key that works there and nowhere else', async () => {
    const made = await harness.accounts.createBusinessAccount(business())
    expect(String(made.pin)).toMatch(/^[1-9]\d{5}$/)
    expect(made.apiKey).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(made.authorisationToken).toMatch(/^[A-Za-z0-9]{32}$/)
    const { demo, other } = harness.projects
    const merchant = await authenticateApiKey(harness.db, harness.secrets, demo, made.apiKey)
    expect(merchant).toMatchObject({ merchantId: made.merchantId, businessName: 'Kente House' })
    const elsewhere = authenticateApiKey(harness.db, harness.secrets, other, made.apiKey)
    expect(await refusal(elsewhere)).toBe('PW_INVALID_API_KEY')
  })

  it('a business account leaves none of its credentials in the database, and has an audit entry', async () => {
    const made = await harness.accounts.createBusinessAccount(business())
    const row = await harness.db.row<{ text: string }>(
      sql(
        'test_business_text',
        `select concat(o, k, m, a) as text from business_owner o
         join api_key k using (merchant_id) join merchant m using (merchant_id)
         join access_audit a on a.target_id = m.merchant_id::text where merchant_id = $1`,
      ),
      [made.merchantId],
    )
    expect(row?.text).toContain('create_business_account')
    for (const secret of [String(made.pin), made.apiKey, made.authorisationToken]) {
      expect(row?.text).not.toContain(secret)
    }
  })

  it('a business account may have a number of five digits', async () => {
    const made = await harness.accounts.createBusinessAccount(business({ mobileNumber: '+43123' }))
    expect(made.apiKey).toMatch(/^[A-Za-z0-9]{32}$/)
  })

  it('a business account is not created once the caller has stopped waiting', async () => {
    const { secrets, accounts, projects, db } = harness
    const owner = { projectId: projects.other, checkDeadline: () => undefined }
    const before = Array.from({ length: 4 }, () => hashPin(secrets, 100_000, owner))
    const late = business({ businessName: 'Late House' })
    const call = accounts.createBusinessAccount(late, { timeoutMs: 60 })
    expect(await refusal(call)).toBe('TIMEOUT')
    await Promise.all(before)
    // It is created after everything that was asked for before.
    await accounts.createBusinessAccount(business())
    const made = sql('test_late', `select from merchant where business_name = 'Late House'`)
    expect(await db.row(made, [])).toBeUndefined()
  })

  it('a business account is refused when something is missing or cannot be', async () => {
    const wrong: [object, string][] = [
      [{ businessName: '' }, 'MISSING_PARAMETER business_name'],
      [{ businessName: ' Shop' }, 'INVALID_PARAMETER business_name'],
      [{ firstName: '' }, 'MISSING_PARAMETER first_name'],
      [{ lastName: '' }, 'MISSING_PARAMETER last_name'],
      [{ email: 'x' }, 'INVALID_PARAMETER email'],
      [{ mobileNumber: '1' }, 'INVALID_PARAMETER mobile_number'],
      [{ projectId: '00000000-0000-4000-8000-000000000000' }, 'PROJECT_NOT_FOUND'],
      [{ projectId: 'x' }, 'INVALID_PARAMETER project_id'],
    ]
    for (const [more, reason] of wrong) {
      expect(await refusal(harness.accounts.createBusinessAccount(business(more)))).toBe(reason)
    }
  })
})
