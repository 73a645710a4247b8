// The projects of a sandbox and their credentials. Apart from the seed, so that reading sandbox.json loads no database client.
import type { InstitutionKey } from '../../../services/accounts/access/domain/access.ts'
import {
  newApiKey,
  newInstitutionKey,
  newSubscriptionKey,
} from '../../../services/accounts/access/domain/credentials.ts'

/** The projects of a sandbox, by the key under which `sandbox.json` shows them. */
export const sandboxProjects = {
  demo: {
    businessName: 'Demo Store',
    mobileNumber: '+12025550200',
    accountAccess: true,
    allowedIps: [],
    granted: true,
  },
  payments_only: {
    businessName: 'Payments Only Ltd',
    mobileNumber: '+12025550201',
    accountAccess: false,
    allowedIps: [],
    granted: true,
  },
  other: {
    businessName: 'Other Ltd',
    mobileNumber: '+12025550202',
    accountAccess: true,
    allowedIps: [],
    granted: true,
  },
  ip_restricted: {
    businessName: 'Restricted IP Ltd',
    mobileNumber: '+12025550203',
    accountAccess: true,
    allowedIps: ['203.0.113.7'],
    granted: false,
  },
} as const satisfies Record<string, SeedProject>

/** A project that is seeded. */
export type SeedProject = {
  businessName: string
  mobileNumber: string
  accountAccess: boolean
  allowedIps: readonly string[]
  granted: boolean
}

/** The name of such a project. */
export type ProjectName = keyof typeof sandboxProjects

/** Everything secret that a sandbox starts with. Made once, kept by the operator, never in the repository. */
export type SandboxCredentials = {
  projects: Record<ProjectName, { subscriptionKey: string; apiKey: string }>
  institution: InstitutionKey
  /** A valid key of the other environment, to see it refused. */
  productionKey: string
}

function newKeyPair(): { subscriptionKey: string; apiKey: string } {
  return { subscriptionKey: newSubscriptionKey('sandbox'), apiKey: newApiKey() }
}

/** Makes the credentials of a new sandbox. */
export function newSandboxCredentials(): SandboxCredentials {
  return {
    projects: {
      demo: newKeyPair(),
      payments_only: newKeyPair(),
      other: newKeyPair(),
      ip_restricted: newKeyPair(),
    },
    institution: newInstitutionKey(),
    productionKey: newSubscriptionKey('production'),
  }
}
