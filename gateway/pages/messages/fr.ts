// The texts of hosted pages in French; no markup.

import type { Messages } from './en.ts'
/** French. */
export const fr: Messages = {
  languageName: 'Français',
  chooseLanguage: 'Langue',

  openTitle: 'Demande de paiement',
  refusedTitle: 'Paiement refusé : vous pouvez réessayer',
  refusedText:
    'La dernière tentative a été refusée et rien n’a été prélevé. Tentatives restantes : {count}.',
  partOfText: 'Ceci est votre part d’une demande de {whole} au total.',
  partlyPaidText:
    'D’autres ont déjà payé {paid} sur {whole}. Il reste {rest} à payer, dont votre part de {amount}.',
  processingTitle: 'Votre paiement est en cours',
  processingText:
    'Veuillez patienter et ne pas payer de nouveau. Cette page s’actualise d’elle-même.',
  paidTitle: 'Payé',
  paidText: 'Merci. Le commerçant a été informé.',
  yourPartPaidTitle: 'Votre part est payée',
  yourPartPaidText:
    'Merci. À ce jour, {paid} sur {whole} ont été payés. D’autres doivent encore payer {rest}.',
  paidOfWhole: 'Payé : {paid} sur {whole}',
  cancelledTitle: 'Cette demande de paiement a été annulée',
  cancelledText: 'Le commerçant l’a annulée. Il n’est plus possible de payer ici.',
  expiredTitle: 'Cette demande de paiement a expiré',
  expiredText: 'Le délai de paiement est écoulé. Demandez un nouveau lien au commerçant.',
  failedTitle: 'Ce paiement a échoué',
  failedText: 'Il n’est plus possible de payer ici. Demandez un nouveau lien au commerçant.',
  refundedTitle: 'Votre argent vous est rendu',
  refundedText: 'Le paiement a été remboursé.',

  amount: 'Montant',
  fee: 'Frais',
  total: 'Total',
  payUntil: 'À payer avant',
  waysToPay: 'Moyens de paiement',

  cash: 'Espèces',
  card: 'Carte',
  wallet: 'Portefeuille mobile',
  credit: 'Carte de crédit',
  debit: 'Carte de débit',
  qr_code: 'Code QR',
  payWith: 'Payer par : {method}',

  scanTitle: 'Scanner pour payer',
  scanText: 'Scannez ce code avec l’appareil photo d’un téléphone, ou ouvrez ce lien :',
  qrLabel: 'Code QR de l’adresse de cette page',

  walletTitle: 'Payer avec votre portefeuille mobile',
  pinLabel: 'Code PIN du portefeuille',
  pinHint: '4 à 12 chiffres',
  mistakeTitle: 'À corriger',
  pinMistake: 'Un code PIN a de 4 à 12 chiffres. Rien n’a été payé.',
  pay: 'Payer {total}',

  cardTitle: 'Payer par carte',
  cardFrame: 'Formulaire de carte du prestataire de paiement',
  cardUnavailable:
    'Le formulaire de carte n’est pas disponible pour le moment. Réessayez dans une minute.',

  agentTitle: 'Payer chez un agent',
  agentText: 'Montrez ce code au guichet, à l’écran ou imprimé :',
  print: 'Imprimer cette page',

  refresh: 'Actualiser cette page',
  backTo: 'Retour à {merchant}',
  openPage: 'Ouvrir la page de paiement',

  notFoundTitle: 'Introuvable',
  notFoundText:
    'Il n’y a rien à cette adresse. Vérifiez le lien, ou demandez-en un nouveau à qui vous l’a envoyé.',
  unavailableTitle: 'Veuillez réessayer',
  unavailableText: 'La page n’est pas disponible pour le moment.',
  foreignFormTitle: 'Veuillez rouvrir le lien',
  foreignFormText: 'Ce formulaire n’a pas été envoyé depuis sa propre page, ou il est trop ancien.',
  tooManyTitle: 'Trop de requêtes',
  tooManyText: 'Veuillez patienter un instant, puis réessayer.',
}
