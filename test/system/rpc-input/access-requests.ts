// The good requests of AccessService, for the sweep of bad input.
import { randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { AccessService, Environment, KeyState } from '#gen/payweave/accounts/v1/access_pb.js'
import { samplePng } from '../../support/files/png.ts'
import { type Facts, requestsFor } from './facts.ts'

/** AccessService: who may use the API. */
export function access({ projectId, merchantId, institutionId, subscriptionKey, apiKey }: Facts) {
  const page = { pageSize: 10, pageToken: randomUUID() }
  const endpoints = ['GET /institution/transaction']
  return requestsFor(AccessService, {
    authenticateSubscriptionKey: [{ subscriptionKey, environment: Environment.SANDBOX }],
    authenticateApiKey: [{ projectId, apiKey }],
    getMerchant: [{ projectId, merchantId }],
    getMerchantLogo: [{ projectId, merchantId }],
    updateMerchant: [
      {
        projectId,
        merchantId: randomUUID(),
        color: '#0b57d0',
        logoPng: samplePng(),
        supportEmail: 'help@shop.example',
        supportPhone: '+12025550190',
        websiteUrl: 'https://shop.example/',
        updateMask: {
          paths: ['color', 'logo_png', 'support_email', 'support_phone', 'website_url'],
        },
      },
    ],
    checkGrant: [{ projectId, institutionName: 'Demo Wallet', endpoint: endpoints[0] ?? '' }],
    getSigningSecrets: [{ institutionId }],
    getProject: [{ projectId }],
    listProjects: [{ environment: Environment.SANDBOX, name: 'demo', ...page }],
    listSubscriptionKeys: [{ projectId, keyId: randomUUID(), state: KeyState.ACTIVE }],
    listApiKeys: [{ projectId, merchantId, keyId: randomUUID(), state: KeyState.REVOKED }],
    listMerchants: [{ projectId, ...page }],
    listInstitutions: [
      { environment: Environment.SANDBOX, name: 'Demo Wallet', institutionId, ...page },
    ],
    getInstitution: [{ institutionId }],
    listGrants: [{ projectId, institutionId }],
    listSigningKeys: [{ projectId }],
    listAudit: [
      {
        projectId,
        caller: 'launcher',
        targetId: projectId,
        startTime: timestampFromDate(new Date(0)),
        endTime: timestampFromDate(new Date()),
        pageSize: 10,
        pageToken: `1700000000000000.${randomUUID()}`,
      },
    ],
    createProject: [
      {
        name: `Sweep ${randomUUID()}`,
        environment: Environment.SANDBOX,
        accountAccess: true,
        allowedIps: ['203.0.113.0/24'],
        requestId: randomUUID(),
      },
    ],
    updateProjectAccess: [
      {
        projectId: randomUUID(),
        accountAccess: true,
        allowedIps: ['203.0.113.7'],
        updateMask: { paths: ['account_access', 'allowed_ips'] },
      },
    ],
    issueSubscriptionKey: [{ projectId: randomUUID(), requestId: randomUUID() }],
    revokeSubscriptionKey: [{ keyId: randomUUID(), projectId }],
    createMerchant: [
      {
        projectId,
        businessName: 'Sweep Store',
        mobileNumber: '+12025550190',
        requestId: randomUUID(),
      },
    ],
    issueApiKey: [{ projectId, merchantId: randomUUID(), requestId: randomUUID() }],
    revokeApiKey: [{ keyId: randomUUID(), projectId }],
    createInstitution: [
      {
        name: `Sweep ${randomUUID()}`,
        environment: Environment.SANDBOX,
        requestId: randomUUID(),
        defaultCurrency: 'USD',
      },
    ],
    rotateInstitutionKey: [{ institutionId: randomUUID(), requestId: randomUUID() }],
    grantEndpoints: [{ projectId, institutionId: randomUUID(), endpoints }],
    revokeGrants: [{ projectId, institutionId: randomUUID(), endpoints }],
  })
}
