// Tests over RPC, on a real database, that a token of one project gives no access to another.
import { createHash } from 'node:crypto'
import type { Client } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AccessService, Environment } from '#gen/payweave/accounts/v1/access_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { type AccessHarness, startAccess } from '../../../../test/accounts/access-harness.ts'
import { pngChunk, samplePng } from '../../../../test/support/files/png.ts'

let harness: AccessHarness
let gateway: Client<typeof AccessService>
let launcher: Client<typeof AccessService>

beforeAll(async () => {
  harness = await startAccess('gateway', 'launcher')
  gateway = harness.clientOf('gateway')
  launcher = harness.clientOf('launcher')
})
afterAll(() => harness.close())

async function newShop(name: string) {
  const environment = Environment.SANDBOX
  const { project } = await launcher.createProject({ name, environment })
  const projectId = project?.projectId ?? ''
  const wanted = { projectId, businessName: name, mobileNumber: '+12025550123' }
  const { merchant, apiKey } = await launcher.createMerchant(wanted)
  return { projectId, apiKey, merchantId: merchant?.merchantId ?? '' }
}

describe('a call for one project', () => {
  it('a call for one project finds what is of that project, named in the request or not', async () => {
    const { projectId, apiKey, merchantId } = await newShop('Own')
    for (const named of [projectId, '']) {
      const call = gateway.authenticateApiKey({ projectId: named, apiKey }, withProject(projectId))
      expect((await call).merchant).toMatchObject({ projectId, merchantId })
    }
  })

  it('a call for one project is refused when it names another project', async () => {
    const [own, other] = [await newShop('Mine'), await newShop('Theirs')]
    const { projectId, apiKey, merchantId } = other
    const only = withProject(own.projectId)
    const calls = [
      gateway.authenticateApiKey({ projectId, apiKey }, only),
      gateway.getMerchant({ projectId, merchantId }, only),
      gateway.checkGrant({ projectId, institutionName: 'Bank', endpoint: 'GET /' }, only),
      launcher.issueSubscriptionKey({ projectId }, only),
      launcher.createMerchant({ projectId, businessName: 'X', mobileNumber: '+12025550123' }, only),
      launcher.updateProjectAccess({ projectId }, only),
      launcher.updateMerchant({ projectId, merchantId, color: '#0b57d0' }, only),
      gateway.getMerchantLogo({ projectId, merchantId }, only),
    ]
    const answers = await Promise.allSettled(calls)
    expect(answers.map(({ status }) => status)).toEqual(Array(calls.length).fill('rejected'))
  })
})

describe('the branding of a merchant', () => {
  const brandingOf = async ({
    projectId,
    merchantId,
  }: {
    projectId: string
    merchantId: string
  }) => {
    const { merchant } = await gateway.getMerchant({ projectId, merchantId })
    const { $typeName: _, ...branding } = merchant?.branding ?? { $typeName: '' }
    return branding
  }
  const none = { color: '', logoDigest: '', supportEmail: '', supportPhone: '', websiteUrl: '' }
  const wanted = {
    color: '#0b57d0',
    logoPng: samplePng({ more: [pngChunk('tEXt', Buffer.from('a\u0000b'))] }),
    supportEmail: 'help@shop.example',
    supportPhone: '+12025550190',
    websiteUrl: 'https://Shop.example',
  }

  it('the branding of a merchant is empty until it is set, and shown to the gateway then', async () => {
    const shop = await newShop('Branded')
    expect(await brandingOf(shop)).toEqual(none)
    await launcher.updateMerchant({ ...shop, ...wanted })
    const { logoPng } = await gateway.getMerchantLogo(shop)
    expect(Buffer.from(logoPng)).toEqual(samplePng())
    expect(await brandingOf(shop)).toEqual({
      color: '#0b57d0',
      logoDigest: createHash('sha256').update(samplePng()).digest('hex'),
      supportEmail: 'help@shop.example',
      supportPhone: '+12025550190',
      websiteUrl: 'https://shop.example/',
    })
  })

  it('the branding of a merchant changes by the mask alone, and an empty value takes a part away', async () => {
    const shop = await newShop('Masked')
    await launcher.updateMerchant({ ...shop, ...wanted })
    const before = await brandingOf(shop)
    const change = { ...shop, color: '#336699', updateMask: { paths: ['color', 'logo_png'] } }
    const { merchant } = await launcher.updateMerchant(change)
    expect(merchant?.branding).toMatchObject({ ...before, color: '#336699', logoDigest: '' })
    expect((await gateway.getMerchantLogo(shop)).logoPng).toHaveLength(0)
    await launcher.updateMerchant(shop)
    expect(await brandingOf(shop)).toEqual(none)
  })

  it('a change of branding is in the audit', async () => {
    const shop = await newShop('Audited')
    await launcher.updateMerchant({ ...shop, ...wanted })
    const { entries } = await launcher.listAudit({ projectId: shop.projectId })
    expect(entries[0]).toMatchObject({
      caller: 'launcher',
      action: 'update_merchant',
      targetId: shop.merchantId,
      details: { color: '#0b57d0', websiteUrl: 'https://shop.example/' },
    })
  })

  it.each([
    ['color', { color: 'red' }, 'must be a colour such as #0b57d0'],
    ['color', { color: '#0B57D0' }, 'must be a colour such as #0b57d0'],
    ['logo_png', { logoPng: Buffer.from('<svg/>') }, 'must be a PNG'],
    ['logo_png', { logoPng: Buffer.alloc(65_537) }, 'must be at most 65536 bytes'],
    ['support_email', { supportEmail: 'nobody' }, 'must be an e-mail address'],
    ['support_phone', { supportPhone: '12025550190' }, 'must be a number in E.164 with plus sign'],
    ['website_url', { websiteUrl: 'http://shop.example' }, 'must be an https URL'],
    ['website_url', { websiteUrl: 'https://a@shop.example' }, 'must be an https URL'],
    ['website_url', { websiteUrl: 'https://[' }, 'must be an https URL'],
    ['website_url', { websiteUrl: 'javascript:alert(1)' }, 'must be an https URL'],
    [
      'website_url',
      { websiteUrl: `https://a/${'ä'.repeat(60)}` },
      'must be at most 200 characters',
    ],
    ['update_mask', { updateMask: { paths: ['business_name'] } }, 'must only contain paths'],
  ])('a bad %s is refused, and changes nothing', async (field, bad, rule) => {
    const shop = await newShop(`Bad ${JSON.stringify(bad).slice(0, 60)}`)
    await launcher.updateMerchant({ ...shop, ...wanted })
    const before = await brandingOf(shop)
    const failure = await launcher
      .updateMerchant({ ...shop, ...wanted, ...bad })
      .catch((error) => error)
    expect(failure).toMatchObject({ reason: 'INVALID_PARAMETER' })
    expect(String(failure.message)).toContain(`${field} ${rule}`)
    expect(await brandingOf(shop)).toEqual(before)
  })

  it('the branding of a merchant of another project can neither be changed nor read', async () => {
    const shop = await newShop('Branded by others')
    await launcher.updateMerchant({ ...shop, ...wanted })
    const before = await brandingOf(shop)
    const { projectId } = await newShop('Curious')
    const foreign = { projectId, merchantId: shop.merchantId }
    const update = launcher.updateMerchant({ ...foreign, color: '#336699' })
    await expect(update).rejects.toMatchObject({ reason: 'MERCHANT_NOT_FOUND' })
    await expect(brandingOf(foreign)).rejects.toMatchObject({ reason: 'MERCHANT_NOT_FOUND' })
    expect((await gateway.getMerchantLogo(foreign)).logoPng).toHaveLength(0)
    expect(await brandingOf(shop)).toEqual(before)
  })
})
