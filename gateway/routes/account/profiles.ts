// The routes that make and register accounts; never keeps a credential that it returns.
import type { Static } from 'typebox'
import { checkPushUrl } from '#core/text/push-url.ts'
import type { Account } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import {
  type Check,
  compileCheck,
  compileQuery,
  invalidField,
  isEmpty,
  readPhone,
} from '../../http/validate.ts'
import type { EdgeSettings } from '../../options.ts'
import { versionQuery } from '../schema-values.ts'
import { artefactUpload } from './artefact-upload.ts'
import {
  businessAccountBody,
  personalAccountBody,
  personalAccountFiles,
  personalAccountForm,
  personalAccountFormFields,
  registerAccountBody,
} from './schemas.ts'

/** Out of a form it has the fields for the review too. */
type PersonalBody = Static<typeof personalAccountBody> & { [detail: string]: string | undefined }

const version = '2024-10-01'
const queryOfVersion = compileQuery(versionQuery, version)
const bodyOfPersonal: Check<PersonalBody> = compileCheck(personalAccountBody, missingCallbackField)
const formOfPersonal: Check<PersonalBody> = compileCheck(personalAccountForm, missingCallbackField)
const bodyOfBusiness = compileCheck(businessAccountBody)
const bodyOfRegistration = compileCheck(registerAccountBody)
const common = {
  version,
  envelope: 'full',
  needsAccountAccess: true,
  method: 'POST',
  query: queryOfVersion,
} as const

/** POST /account/personal_account, /account/business_account and /account/register_account. */
export const accountProfileRoutes = [
  route({
    ...common,
    path: '/account/personal_account',
    body: bodyOfPersonal,
    form: {
      check: formOfPersonal,
      texts: new Set(Object.keys(personalAccountForm.properties)),
      files: personalAccountFiles,
      open: ({ accounts }, whose) => artefactUpload(accounts, whose),
    },
    read: readProfile,
    credential: { kind: 'none' },
    async operate(request, { services, projectId, requestId, upload }) {
      const details = upload === undefined ? {} : request.details
      const profile = { ...request, details }
      const made =
        upload?.hasBegun() === true
          ? upload.finish(profile)
          : services.accounts.createPersonalAccount(
              { projectId, requestId, profile },
              withProject(projectId),
            )
      const { account, mobileNumberAsSent } = await made.catch(toPublicError())
      const data = renderPersonal(account, mobileNumberAsSent)
      return {
        code: 200,
        message: 'Personal account created; its review follows.',
        fields: { data },
      }
    },
  }),
  route({
    ...common,
    path: '/account/business_account',
    body: bodyOfBusiness,
    read: ({ body, originCountry }) => ({
      businessName: body.business_name,
      firstName: body.first_name,
      lastName: body.last_name,
      email: body.email,
      mobileNumber: readPhone(body.mobile_number, originCountry, 'mobile_number'),
    }),
    credential: { kind: 'none' },
    async operate(request, { services, projectId }) {
      const { pin, apiKey, authorisationToken } = await services.accounts
        .createBusinessAccount({ ...request, projectId }, withProject(projectId))
        .catch(toPublicError())
      const fields = { pin, api_key: apiKey, authorisation_token: authorisationToken }
      return { code: 200, message: 'Business account created.', fields }
    },
  }),
  route({
    ...common,
    path: '/account/register_account',
    body: bodyOfRegistration,
    read({ body, originCountry, settings }) {
      const mobileNumber = readPhone(body.mobile_number, originCountry, 'mobile_number')
      checkCallbackUrl(body.callback_url, settings)
      return {
        mobileNumber,
        mobileNumberAsSent: body.mobile_number,
        institutionName: body.institution_name,
        firstName: body.first_name,
        lastName: body.last_name,
        sessionToken: body.session_token,
        authorisationToken: body.authorisation_token,
        callbackUrl: body.callback_url,
      }
    },
    credential: { kind: 'session' },
    async operate(request, { services, projectId, requestId }) {
      const { challengeId } = await services.accounts
        .registerAccount({ ...request, projectId, requestId }, withProject(projectId))
        .catch(toPublicError())
      return { code: 200, message: 'Registration request sent.', fields: { challengeId } }
    },
  }),
]

/** An address of callbacks and the token of their header are given together or not at all. */
function missingCallbackField({
  callback_url,
  authorisation_token,
}: Record<string, unknown>): string[] {
  if (isEmpty(callback_url) === isEmpty(authorisation_token)) return []
  return [isEmpty(callback_url) ? 'callback_url' : 'authorisation_token']
}

function readProfile({ body, originCountry, settings }: Input<unknown, PersonalBody>) {
  const { callback_url: callbackUrl, authorisation_token: authorisationToken } = body
  const mobileNumber = readPhone(body.mobile_number, originCountry, 'mobile_number')
  if (callbackUrl !== undefined) checkCallbackUrl(callbackUrl, settings)
  return {
    firstName: body.first_name,
    lastName: body.last_name,
    email: body.email,
    mobileNumber,
    mobileNumberAsSent: body.mobile_number,
    institutionName: body.institution_name,
    callbackUrl: callbackUrl ?? '',
    authorisationToken: authorisationToken ?? '',
    details: readDetails(body),
    originCountry,
  }
}

function readDetails(body: PersonalBody): Record<string, string> {
  const details: Record<string, string> = {}
  for (const name of personalAccountFormFields) {
    const value = body[name]
    if (value !== undefined) details[name] = value
  }
  return details
}

function renderPersonal(account: Account | undefined, mobileNumberAsSent: string) {
  if (account === undefined) throw refusal('INTERNAL_ERROR')
  return {
    account_id: account.accountId,
    account_status: 'pending_review',
    account_type: account.accountType,
    mobile_number: mobileNumberAsSent,
    email: account.email,
  }
}

function checkCallbackUrl(url: string, { allowLoopback }: EdgeSettings): void {
  const problem = checkPushUrl(url, { allowLoopback })
  if (problem !== undefined) throw invalidField('callback_url', problem)
}
